"""Device traces and programs for the stand-in to leave behind: sound ones and faulty ones."""

from __future__ import annotations

from pathlib import Path

from roofline.captures.ntff.trace import open_trace
from tests.captures.neff_builder import NeffFile, debug_file, entry, planned, programs_of, trigger
from tests.captures.ntff import encoder as enc
from tests.captures.ntff.words import notify, unary, word

WRITE = 0xA5
UUID = bytes(range(1, 17))


def trace(*, size: int = 512, lost: bool = False, dynamic: bool = False) -> bytes:
    """One logical core of two, with instructions and planned packets that fill its window."""
    cores = []
    for number in (0, 1):
        core = enc.Core(number=number, total_ps=20_000, memory=[("x", 512)])
        core.programs[3] = (
            0x8005_C000_0000,
            notify(2) + unary(0x46, 256, dtypes=(7, 7)) + word(0xA0),
        )
        core.programs[4] = (0x8005_C000_4000, notify(2) + word(WRITE))
        records = []
        for pc in range(3):
            at = 2000 + 3000 * pc
            records += [
                enc.instruction_start(3, core.word(3, pc), at, lost=lost),
                enc.instruction_end(3, core.word(3, pc), at + 2000),
            ]
        records += [
            enc.instruction_start(4, core.word(4, 1), 4000, lost=lost),
            enc.instruction_end(4, core.word(4, 1), 4500),
        ]
        engine, name, kind = (64, "qPoolDynamic", 2) if dynamic else (65, "qSPIO0", 3)
        core.rings = [enc.Ring(engine, 0, name, kind, [] if dynamic else [(0, 2)])]
        core.sections = {
            0: b"".join(records),
            1: b"".join(enc.semaphore(5, value, 4000 + value) for value in range(4)),
            4: b"".join(
                enc.packet(engine, 0, step, at + 500 * step, size=size)
                for at in (5000, 5200)
                for step in (1, 5, 6)
            ),
        }
        cores.append(core)
    return enc.File(version=6, cores=cores, uuid=UUID, window=(900, 11_000)).encode()


def write_all(folder: Path) -> Path:
    """Write every file that the stand-in knows."""
    folder.mkdir()
    for name, content in {
        "good": trace(),
        "helper": trace(size=1),
        "lost": trace(lost=True),
        "unlinked": trace(dynamic=True),
    }.items():
        (folder / f"{name}.ntff").write_bytes(content)
    programs = programs_of(open_trace(folder / "good.ntff"))
    for program in programs.values():
        program.words["sync"] = notify(2) + trigger("qSPIO0", 0)
        program.queues = {"qSPIO0": {"semaphore_set": [20]}}
        program.dma = {"sync": [planned("qSPIO0", 0, "x", "SB", 1024)]}
        program.variables = {
            "SB": {"type": "state-buffer", "var_id": 0},
            "x": {"type": "input", "var_id": 1, "size": 1024},
        }
    debug = {"debug_info/debug_info_penguin.dbg_sg000000": debug_file([entry(1, "x")])}
    for name, neff in {
        "good": NeffFile(programs=programs, uuid=UUID, debug=debug),
        "bare": NeffFile(programs=programs, uuid=UUID),
        "other": NeffFile(programs=programs, uuid=UUID[::-1], debug=debug),
    }.items():
        neff.write(folder / f"{name}.neff")
    return folder
