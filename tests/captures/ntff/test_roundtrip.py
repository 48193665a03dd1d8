"""What the encoder writes, the reader finds: versions, cores, clocks, empty and lost records."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.captures.capture import Capture
from roofline.captures.ntff.operands import operand_text
from roofline.captures.ntff.words import OPCODES
from roofline.captures.registry import open_capture
from tests.captures.ntff import encoder as enc
from tests.captures.ntff.words import notify, word

ALL_OPCODES = sorted(OPCODES)
BASE = 10**15


@dataclass
class Row:
    core: int
    engine: int
    pc: int
    start: int
    end: int
    wait: int
    crc: tuple[int, int]


def open_bytes(content: bytes, folder: Path, compat: str | None = None) -> Capture:
    path = folder / "trace.ntff"
    path.write_bytes(content)
    return open_capture(path, compat)


CLOCKS = st.one_of(
    st.just((0, 1, 1)),
    st.tuples(st.integers(0, BASE // 2), st.integers(1000, 10**6), st.integers(1000, 2 * 10**6)),
)


@st.composite
def captures(draw: st.DrawFn) -> tuple[enc.File, list[Row], list[tuple], list[tuple]]:
    """A file and what is in it: instruction rows, packets, semaphore updates (times in ps)."""
    version = draw(st.sampled_from((4, 5, 6)))
    cores, rows, packets, updates = [], [], [], []
    zero = None
    for index in range(draw(st.integers(1, 3))):
        core = enc.Core(number=4 + index, total_ps=10**9)
        for engine in range(5):
            codes = draw(st.lists(st.sampled_from(ALL_OPCODES), min_size=1, max_size=4))
            words = b"".join(word(code) for code in codes if code != 0xA6) + notify(2)
            address = draw(st.integers(0, 1 << 34)) << 6
            core.programs[engine] = (address, words)
        core.clocks = {which: draw(CLOCKS) for which in (0, 1, 2, 3, 4, 6, 7)}
        core.dma_clocks = [draw(CLOCKS) for _ in range(draw(st.sampled_from((0, 1, 16))))]
        first = BASE + draw(st.integers(0, 10**6))
        records = []
        for engine in range(5):  # the start marker is the last word of each program
            pc = len(core.programs[engine][1]) // 64 - 1
            at = first if engine else first + 1  # Tensor passes it last
            records.append((at, 0, Row(index, engine, pc, at, at, 0, (0xFFFF, 0xFFFF))))
        if version < 6 and index == 0:
            marks = [enc.ps_of(row.end, core.clock(row.engine)) for _, _, row in records]
            zero = max(marks)
        last_end: dict[tuple[int, int], int] = defaultdict(int)
        for _ in range(draw(st.integers(0, 12))):
            engine = draw(st.integers(0, 4))
            pc = draw(st.integers(0, len(core.programs[engine][1]) // 64 - 1))
            if pc == len(core.programs[engine][1]) // 64 - 1:
                continue
            start = first + draw(st.integers(-1000, 100_000))
            start = max(start, last_end[engine, -1 - pc])
            end = max(start + draw(st.integers(0, 5000)), last_end[engine, pc])
            last_end[engine, pc], last_end[engine, -1 - pc] = end, start
            crc = (draw(st.integers(0, 0xFFFF)), draw(st.integers(0, 0xFFFF)))
            wait = draw(st.integers(0, 0xFFFF))
            records.append((start, 0, Row(index, engine, pc, start, end, wait, crc)))
        stream = sorted(
            [(row.start, 0, number, row) for number, (_, _, row) in enumerate(records)]
            + [(row.end, 1, number, row) for number, (_, _, row) in enumerate(records)],
            key=lambda item: item[:3],
        )
        core.sections[0] = b"".join(
            enc.instruction_end(row.engine, core.word(row.engine, row.pc), row.end, crc=row.crc)
            if is_end
            else enc.instruction_start(
                row.engine, core.word(row.engine, row.pc), row.start, wait=row.wait
            )
            for _, is_end, _, row in stream
        )
        rows += [row for _, _, row in records]
        core.rings = [enc.Ring(64 + engine, 1, "qPoolDynamic") for engine in range(16)]
        moves = []
        for _ in range(draw(st.integers(0, 10))):
            engine, ring = draw(st.integers(0, 15)), draw(st.integers(0, 2))
            start = first + draw(st.integers(0, 100_000))
            moves.append((start, engine, ring, draw(st.integers(1, 1 << 23))))
        open_until: dict[tuple[int, int], int] = defaultdict(int)
        steps = []
        for start, engine, ring, size in sorted(moves):
            end = max(start + 10, open_until[engine, ring])
            open_until[engine, ring] = end
            steps += [
                (start, 1, engine, ring, 0),
                (end, 5, engine, ring, size),
                (end, 6, engine, ring, 0),
            ]
            packets.append((index, 64 + engine, ring, start, end, size))
        core.sections[4] = b"".join(
            enc.packet(engine, ring, step, raw, size=size)
            for raw, step, engine, ring, size in sorted(steps, key=lambda item: item[0])
        )
        changes = [
            (
                first + draw(st.integers(0, 10**5)),
                draw(st.integers(0, 255)),
                draw(st.integers(0, 1 << 31)),
            )
            for _ in range(draw(st.integers(0, 6)))
        ]
        core.sections[1] = b"".join(enc.semaphore(n, v & 0x7FFFFFFF, raw) for raw, n, v in changes)
        updates += [(index, raw, n, v & 0x7FFFFFFF) for raw, n, v in changes]
        core.sections[2] = core.sections[5] = b""
        cores.append(core)
    file = enc.File(version=version, cores=cores)
    if version >= 6:
        file.window = (draw(st.integers(0, BASE)), 1 << 62)
        zero = file.window[0]
    file.uuid = file.uuid[: draw(st.integers(0, 16))]
    assert zero is not None
    return file, rows, packets, [(zero, *update) for update in updates]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(captures())
def test_round_trip(made: tuple[enc.File, list[Row], list[tuple], list[tuple]]) -> None:
    file, rows, packets, updates = made
    zero = file.window[0] if file.window else None
    with TemporaryDirectory() as folder:
        capture = open_bytes(file.encode(), Path(folder))
        found = capture.instructions.to_pylist()
        if zero is None:
            first = file.cores[0]
            marks = [row for row in rows if row.core == 0][:5]
            zero = max(enc.ps_of(row.end, first.clock(row.engine)) for row in marks)
        expected = []
        for row in rows:
            clock = file.cores[row.core].clock(row.engine)
            start, end = enc.ps_of(row.start, clock) - zero, enc.ps_of(row.end, clock) - zero
            if start >= 0:
                opcode = file.cores[row.core].programs[row.engine][1][row.pc * 64]
                engine = enc.ENGINES[row.engine]
                expected.append((row.core, engine, row.pc, start, end, OPCODES[opcode], *row.crc))
        columns = ("pcore_idx", "engine", "pc", "start_ps", "end_ps", "opcode", "crc_in", "crc_out")
        assert sorted(expected) == sorted(tuple(r[column] for column in columns) for r in found)
        for r in found:
            assert r["duration_ns"] == (r["end_ps"] - r["start_ps"]) // 1000
            assert (r["start_ts"], r["end_ts"]) == (r["start_ps"] // 1000, r["end_ps"] // 1000)
        wanted = []
        for core, engine, ring, start, end, size in packets:
            clocks = file.cores[core].dma_clocks or [(0, 1, 1)]
            clock = clocks[(engine - 64) % len(clocks)]
            begin = enc.ps_of(start, clock) - zero
            if begin >= 0:
                wanted.append((core, engine, ring, begin, enc.ps_of(end, clock) - zero, size))
        columns = ("pcore_idx", "engine_idx", "queue_idx", "start_ps", "end_ps", "transfer_bytes")
        assert sorted(wanted) == sorted(
            tuple(r[column] for column in columns) for r in capture.dma.to_pylist()
        )
        changes = []
        for _, core, raw, ident, value in updates:
            at = enc.ps_of(raw, file.cores[core].clock(6)) - zero
            if at >= 0:
                changes.append((core, at, str(ident), value))
        assert sorted(changes) == sorted(
            (r["pcore_idx"], r["timestamp_ps"], r["id"], r["value"])
            for r in capture.semaphores.to_pylist()
        )
        assert capture.metadata["ntff_version"] == file.version
        assert capture.metadata["core_numbers"] == tuple(core.number for core in file.cores)
        # the clocks of this file are drawn apart, so rows may reach past the execution
        assert not {issue.id for issue in capture.quality} & {
            *("foreign-records", "negative-duration", "ends-without-start", "unknown-opcode"),
            *("starts-without-end", "outside-program"),
        }


@pytest.mark.parametrize("version", [4, 5, 6])
def test_empty_trace(version: int, tmp_path: Path) -> None:
    core = enc.Core(sections={0: b"", 1: b"", 4: b"", 5: b""})
    file = enc.File(version=version, cores=[core], window=(5, 10) if version == 6 else None)
    capture = open_bytes(file.encode(), tmp_path)
    for table in capture.sources:
        assert capture.table(table).num_rows == 0
    assert "no-instructions" in {issue.id for issue in capture.quality}


def test_without_a_start_marker_time_begins_with_the_first_instruction(tmp_path: Path) -> None:
    file = simple([enc.instruction_start(0, 101, 7000), enc.instruction_end(0, 101, 9000)])
    file.version, file.window = 5, None
    capture = open_bytes(file.encode(), tmp_path)
    assert capture.instructions["start_ps"].to_pylist() == [0]
    assert ("no-start-marker", "estimated") in {(i.id, i.severity) for i in capture.quality}


def simple(records: list[bytes], **more: object) -> enc.File:
    """One core, one Tensor program of four words; times are ps from 0 (version 6)."""
    core = enc.Core(programs={0: (0x40 * 100, word(0xA2) * 4)}, sections={0: b"".join(records)})
    for name, value in more.items():
        setattr(core, name, value)
    return enc.File(version=6, cores=[core], window=(0, 10**9))


def test_lost_start_does_not_shift_the_pairs_behind_it(tmp_path: Path) -> None:
    records = [
        enc.instruction_start(0, 100, 10),
        enc.instruction_end(0, 100, 20),
        enc.instruction_end(0, 100, 40, lost=True),  # its start was lost
        enc.instruction_start(0, 100, 50),
        enc.instruction_end(0, 100, 60),
        enc.instruction_start(0, 100, 70),
        enc.instruction_end(0, 100, 80),
    ]
    capture = open_bytes(simple(records).encode(), tmp_path)
    spans = list(
        zip(*(capture.instructions[c].to_pylist() for c in ("start_ps", "end_ps")), strict=True)
    )
    assert spans == [(10, 20), (50, 60), (70, 80)]
    issues = {issue.id: issue.count for issue in capture.quality}
    assert issues["ends-without-start"] == 1
    assert issues["lost-records"] == 1
    vendor = open_bytes(simple(records).encode(), tmp_path, "vendor").instructions
    assert vendor["end_ps"].to_pylist() == [20, 40, 60]  # k-th with k-th, whatever is missing


def test_packet_in_flight_at_zero_is_kept_in_order(tmp_path: Path) -> None:
    steps = [(-5, 1, 0), (3, 5, 100), (10, 1, 0), (20, 5, 200), (30, 1, 0), (40, 5, 300)]
    content = b"".join(enc.packet(0, 1, step, 1000 + at, size=size) for at, step, size in steps)
    core = enc.Core(
        programs={0: (0, word(0xA2))},
        rings=[enc.Ring(64, 1, "qSPDynamicHW")],
        sections={
            0: enc.instruction_start(0, 0, 1000) + enc.instruction_end(0, 0, 1001),
            4: content,
        },
    )
    file = enc.File(version=6, cores=[core], window=(1000, 10**9))
    capture = open_bytes(file.encode(), tmp_path)
    assert capture.dma["transfer_bytes"].to_pylist() == [200, 300]
    repaired = [issue for issue in capture.quality if issue.severity == "repaired"]
    assert [(issue.id, issue.count) for issue in repaired] == [("packets-at-zero", 2)]
    # the vendor pairs each start with the end before it, and drops what comes out negative
    assert open_bytes(file.encode(), tmp_path, "vendor").dma.num_rows == 0


def test_rows_of_two_cores_at_one_ns(tmp_path: Path) -> None:
    def core(number: int, start: int) -> enc.Core:
        records = enc.instruction_start(0, 0, start) + enc.instruction_end(0, 0, start + 900)
        return enc.Core(number=number, programs={0: (0, word(0xA2))}, sections={0: records})

    file = enc.File(version=6, cores=[core(4, 5100), core(5, 5900)], window=(0, 10**9))
    capture = open_bytes(file.encode(), tmp_path)
    assert capture.instructions["pcore_idx"].to_pylist() == [0, 1]
    assert ("overwritten-rows", 1) in {(issue.id, issue.count) for issue in capture.quality}
    vendor = open_bytes(file.encode(), tmp_path, "vendor")
    assert vendor.instructions["pcore_idx"].to_pylist() == [1]
    assert vendor.summary["tensor_engine_instruction_count"] == 2


def test_program_counter_outside_the_program(tmp_path: Path) -> None:
    records = [
        enc.instruction_start(0, 7, 10),
        enc.instruction_start(0, 101, 12),
        enc.instruction_end(0, 101, 15),
        enc.instruction_end(0, 7, 20),
    ]
    capture = open_bytes(simple(records).encode(), tmp_path)
    rows = capture.instructions.to_pylist()
    assert [(row["opcode"], row["pc"], row["engine"]) for row in rows] == [
        (None, None, "tensor"),
        ("DRAIN", 1, "tensor"),
    ]
    assert ("outside-program", 1) in {(issue.id, issue.count) for issue in capture.quality}
    assert capture.summary["tensor_engine_instruction_count"] == 2
    assert open_bytes(simple(records).encode(), tmp_path, "vendor").instructions.num_rows == 1


def test_unknown_opcode_and_dtype_are_named(tmp_path: Path) -> None:
    words = word(0x77) + word(0x02, {32: ("B", 3)})
    records = [
        part
        for pc in (0, 1)
        for part in (
            enc.instruction_start(0, 100 + pc, 10 + pc),
            enc.instruction_end(0, 100 + pc, 20 + pc),
        )
    ]
    file = simple(records, programs={0: (0x40 * 100, words)})
    capture = open_bytes(file.encode(), tmp_path)
    rows = capture.instructions.to_pylist()
    assert [row["opcode"] for row in rows] == ["Operation(119)", "MATMUL"]
    assert [row["kind"] for row in rows] == [None, "compute"]
    assert rows[1]["dtype_in"] is None
    whats = [issue.what for issue in capture.quality if issue.id.startswith("unknown-")]
    assert any("0x77" in what for what in whats)
    assert any("code 3" in what for what in whats)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ALL_OPCODES), st.binary(min_size=63, max_size=63), st.booleans())
def test_any_word_has_a_text(code: int, rest: bytes, inserted: bool) -> None:
    text = operand_text(bytes([code]) + rest, inserted=inserted, queues={9: "q"}, transposes=True)
    assert isinstance(text, str)
    assert "\n" not in text


def test_times_do_not_pass_through_float(tmp_path: Path) -> None:
    clock = (464_077_481_672_061, 914_286, 914_260)
    raw = clock[0] + 2**52 + 3
    core = enc.Core(
        programs={3: (0, word(0xA2))},
        clocks={3: clock},
        sections={0: enc.instruction_start(3, 0, raw) + enc.instruction_end(3, 0, raw + 7)},
    )
    file = enc.File(version=6, cores=[core], window=(1, 1 << 62))
    row = open_bytes(file.encode(), tmp_path).instructions.to_pylist()[0]
    assert row["start_ps"] == enc.ps_of(raw, clock) - 1
    assert row["end_ps"] == enc.ps_of(raw + 7, clock) - 1


def test_chunks_give_the_same_rows_as_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(7)
    records, at = [], 100
    open_ends: list[tuple[int, int]] = []
    for _ in range(400):
        at += int(generator.integers(1, 50))
        pc = int(generator.integers(0, 4))
        records.append(enc.instruction_start(0, 100 + pc, at))
        open_ends.append((at + int(generator.integers(1, 300)), pc))
        for end, ended in sorted(open_ends):
            if end <= at:
                records.append(enc.instruction_end(0, 100 + ended, end))
                open_ends.remove((end, ended))
    content = simple(records).encode()
    whole = open_bytes(content, tmp_path).instructions.drop_columns(["id"])
    monkeypatch.setattr("roofline.captures.ntff.records.CHUNK_RECORDS", 17)
    parts = open_bytes(content, tmp_path).instructions.drop_columns(["id"])
    keys = [("start_ps", "ascending"), ("end_ps", "ascending"), ("pc", "ascending")]
    assert whole.sort_by(keys).to_pylist() == parts.sort_by(keys).to_pylist()
    assert whole.num_rows > 350
