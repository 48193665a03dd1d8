"""Programs joined to raw traces.

The traces are public ones; their programs are built here from the documented layout: the trace's
own words without what the runtime inserted, with tensors, planned transfers and debug levels.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from roofline.captures.neff.attach import attach_neff
from roofline.captures.neff.join import Join, choose_neff, match
from roofline.captures.neff.program import Neff, open_neff
from roofline.captures.ntff.decoded import Decoded
from roofline.captures.ntff.header import Clock, Core, Edit, Header, Memory
from roofline.captures.ntff.program import Program as TraceProgram
from roofline.captures.ntff.trace import Trace, open_trace
from roofline.captures.ntff.transfers import Transfers
from roofline.captures.ntff.wire import Span
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError
from tests.captures.neff_builder import (
    DROPPED_WORD,
    NeffFile,
    Program,
    debug_file,
    entry,
    planned,
    programs_of,
    trigger,
)

WRITE, DIRECT = 0xA5, 0xB8
WORD = 64


def of_trace(trace: Trace, programs: dict[str, Program] | None = None) -> NeffFile:
    return NeffFile(
        programs=programs or programs_of(trace), uuid=trace.header.uuid.ljust(16, b"\0")
    )


def replace_words(words: bytes, opcode: int, new: list[bytes]) -> bytes:
    """Put ``new`` words in the places of an opcode, in order."""
    parts = [words[at : at + WORD] for at in range(0, len(words), WORD)]
    left = iter(new)
    return b"".join(next(left) if part[0] == opcode else part for part in parts)


# The word number of a program counter ------------------------------------------------------------


def program_of(words: list[bytes], edits: list[Edit], uuid: bytes = b"") -> TraceProgram:
    """A trace's program of one core whose Sync engine holds ``words``."""
    data = b"".join(words)
    clock = Clock()
    core = Core(
        name="sg00", number=0, edits=tuple(edits), rings=(), engine_clocks=(clock,) * 5,
        memories=(Memory(engine=4, address=0, span=Span(0, len(data))),), event_clock=clock,
        throttle_clock=clock, dma_clocks=(clock,), memory_use=(), total_ps=None,
    )  # fmt: skip
    header = Header(
        version=5, size=0, body=0, neff_path="dir/k.neff", uuid=uuid, instance_type="",
        instance_id="", captured_unix_s=None, runtime_version="", driver_version="",
        collectives_version="", cores=(core,), sections=(), window_ps=None, capacities=(),
    )  # fmt: skip
    return TraceProgram(memoryview(data), header)


def word(code: int, tag: int) -> bytes:
    return bytes([code, 0x10, tag]) + bytes(61)


def test_word_numbers_skip_insertions_and_count_drops(tmp_path: Path) -> None:
    compiled = [word(0xB1, 0), DROPPED_WORD, word(0x46, 1), word(0x46, 2), trigger("q", 0)]
    ours = word(0xA6, 9)
    ran = [ours, ours, compiled[0], compiled[2], ours, compiled[3], word(0xA5, 7), ours]
    edits = [
        Edit(engine=4, offset_bytes=0, count=2, kind=0),
        Edit(engine=4, offset_bytes=3 * WORD, count=1, kind=2),
        Edit(engine=4, offset_bytes=4 * WORD, count=1, kind=0),
        Edit(engine=4, offset_bytes=7 * WORD, count=1, kind=0),
    ]
    program = program_of(ran, edits)
    file = NeffFile(programs={"sg00": Program(words={"sync": b"".join(compiled)})})
    neff = open_neff(file.write(tmp_path / "k.neff"))
    join = Join(neff, program)
    assert join.index.tolist() == [-1, -1, 0, 2, -1, 3, 4, -1]
    assert join.opcode.tolist() == [-1, -1, 0xB1, 0x46, -1, 0x46, 0xC1, -1]
    found = match(neff, program)
    assert (found.words, found.compared, found.fits, found.uuid) == (3, 3, True, None)
    assert found.is_program

    short = NeffFile(programs={"sg00": Program(words={"sync": b"".join(compiled[:3])})})
    other = open_neff(short.write(tmp_path / "short.neff"))
    assert not match(other, program).is_program


def test_choosing_among_several(tmp_path: Path) -> None:
    def neff(name: str, uuid: bytes, tags: tuple[int, ...] = (1, 2)) -> Neff:
        words = b"".join([word(0xB1, 0), *(word(0x46, tag) for tag in tags)])
        file = NeffFile(
            programs={"sg00": Program(words={"sync": words})}, uuid=uuid.ljust(16, b"z")
        )
        return open_neff(file.write(tmp_path / name))

    ran = [word(0xB1, 0), word(0x46, 1), word(0x46, 2)]
    right, other = neff("a.neff", b"right"), neff("b.neff", b"other")
    named, wrong = neff("k.neff", b"third"), neff("w.neff", b"right", (1, 3))
    assert choose_neff([wrong, other, right], program_of(ran, [], b"right")) is right
    assert choose_neff([wrong], program_of(ran, [], b"right")) is None
    assert choose_neff([other, named], program_of(ran, [])) is named  # by the path in the trace
    assert choose_neff([other, right], program_of(ran, [])) is None  # alike, and not told apart
    assert choose_neff([other, other], program_of(ran, [])) is other
    assert choose_neff([], program_of(ran, [])) is None


# Real traces -------------------------------------------------------------------------------------


def test_every_shared_trace_finds_its_program_among_all(shared: Path, tmp_path: Path) -> None:
    paths = sorted((shared / "captures").glob("*/*.ntff"))
    assert len(paths) == 23
    traces = [open_trace(path) for path in paths]
    neffs = [
        open_neff(of_trace(trace).write(tmp_path / f"{number}.neff"))
        for number, trace in enumerate(traces)
    ]
    for number, trace in enumerate(traces):
        assert choose_neff(neffs, trace.program) is neffs[number]
        assert match(neffs[number], trace.program).score == 1.0
    wrong = [
        match(neff, trace.program)
        for one, trace in enumerate(traces)
        for other, neff in enumerate(neffs)
        if one != other
    ]
    assert not any(found.uuid for found in wrong)


def test_a_swapped_program_is_refused_in_one_line(shared: Path, tmp_path: Path) -> None:
    folder = shared / "captures" / "trn2-v6-attention"
    first, second = sorted(folder.glob("*.ntff"))[:2]
    neff = of_trace(open_trace(first)).write(tmp_path / "first.neff")
    with pytest.raises(
        CaptureError, match=r"first\.neff is not the program of .*another uuid"
    ) as e:
        attach_neff(open_capture(second), neff)
    assert "\n" not in str(e.value)
    with pytest.raises(CaptureError, match="joined to a raw trace"):
        attach_neff(open_capture(first.with_suffix(".json.gz")), neff)


@pytest.fixture
def vector_add(shared: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A trace whose DMA is planned, and its program: two inputs, one output, six transfers."""
    path = shared / "captures" / "trn2-v5-vector-add" / "vector_add_fd1000.ntff"
    trace = open_trace(path)
    programs = programs_of(trace)
    main = programs["sg00"]
    main.words["sync"] = replace_words(
        main.words["sync"], WRITE, [trigger("qSPIO0", number) for number in range(4)]
    )
    main.words["gpsimd"] = replace_words(
        main.words["gpsimd"], WRITE, [trigger("qPoolIO0", number) for number in range(2)]
    )
    main.dma = {
        "sync": [planned("qSPIO0", n, "ab"[n % 2], "SB", 512_000) for n in range(4)],
        "gpsimd": [planned("qPoolIO0", n, "SB", "c", 512_000) for n in range(2)],
    }
    shape = {"sim_format": "NC", "sim_shape": [256, 1000], "sim_dtype": "float32"}
    main.variables = {
        "SB": {"type": "state-buffer", "var_id": 0},
        **{
            name: {"type": kind, "var_id": number, "size": 1_024_000}
            for number, (name, kind) in enumerate(
                {"a": "input", "b": "input", "c": "output"}.items(), 1
            )
        },
    }
    main.tensor_map = dict.fromkeys("abc", shape)
    main.queues = {"qSPIO0": {"semaphore_set": [20]}, "qPoolIO0": {"semaphore_set": [21]}}
    return path, of_trace(trace, programs).write(tmp_path / "file.neff")


def test_planned_dma_gets_tensors_and_directions(vector_add: tuple[Path, Path]) -> None:
    path, neff = vector_add
    capture = attach_neff(open_capture(path), neff)
    rows = capture.dma.to_pylist()
    count = Counter(
        (row["queue_name"], row["source_memory"], row["dest_memory"], row["variable"])
        for row in rows
        if row["block_id"] is not None
    )
    assert set(count) == {
        ("qSyncIO0", "hbm", "sbuf", "a"), ("qSyncIO0", "hbm", "sbuf", "b"),
        ("qGpSimdIO0", "sbuf", "hbm", "c"),
    }  # fmt: skip
    size: Counter[int] = Counter()
    for row in rows:
        if row["transfer_row"] is not None:
            size[row["transfer_row"]] += row["transfer_bytes"]
    # each of 16 rings carries 4 bytes more than its share, for the semaphore
    assert set(size.values()) == {512_000 + 16 * 4}
    static = [row for row in rows if row["queue_type"] == "data"]
    assert all(row["block_id"] is not None for row in static)

    transfers = capture.table("transfers").to_pylist()
    assert [row["block_id"] for row in transfers] == [0, 1, 2, 3, 0, 1]
    trace = open_trace(path)
    by_counts = {(t.queue, t.block): t for t in Transfers(Decoded(trace)).all}
    for row in transfers:
        queue = row["queue_name"].replace("qSync", "qSP").replace("qGpSimd", "qPool")
        other = by_counts[queue, row["block_id"]]
        assert (row["start_ps"], row["end_ps"]) == (other.start_ps, other.end_ps)
        assert row["start_ps"] > row["trigger_ps"]


def test_summary_bytes_equal_the_vendors(vector_add: tuple[Path, Path]) -> None:
    path, neff = vector_add
    bare = open_capture(path)
    assert "hbm_read_bytes" not in bare.summary
    assert "static-dma-direction" in {issue.id for issue in bare.quality}
    capture = attach_neff(bare, neff)
    text = next(path.parent.glob("*.txt")).read_text()
    vendor = dict(line.split() for line in text.splitlines() if len(line.split()) == 2)
    summary = capture.summary
    for name in ("hbm_read_bytes", "hbm_write_bytes"):
        assert summary[name] == int(vendor[name])
    # the vendor's tool divides by the bandwidth in 32-bit float: 716,000,002,048 B/s
    assert summary["mbu_estimated_percent"] == pytest.approx(
        float(vendor["mbu_estimated_percent"]), rel=1e-8
    )
    # that tool counts a tensor once for each of two cores
    assert 2 * summary["inputs_and_weights_size_bytes"] == int(
        vendor["inputs_and_weights_size_bytes"]
    )
    assert summary["compiler_version"] == "2.21.18209.0"


def test_what_the_program_adds_is_listed(vector_add: tuple[Path, Path]) -> None:
    path, neff = vector_add
    capture = attach_neff(open_capture(path), neff)
    issues = {issue.id: issue for issue in capture.quality}
    assert "no-program" not in issues
    assert "static-dma-direction" not in issues
    added = issues["program-joined"].what
    assert "3 tensors" in added
    assert "direction and tensor of 6 planned transfers" in added
    assert "queues of semaphores" in added
    assert "/home/author" not in str(capture.metadata) + added
    assert capture.tensors["type"].to_pylist() == ["IN", "IN", "OUT"]
    assert capture.metadata["neff"]["file"] == "file.neff"
    names = set(capture.semaphores["name"].to_pylist())
    assert names <= {None, "GpSimd", "Scalar", "Tensor", "Vector", "qSyncIO0", "qGpSimdIO0"}


def test_all_other_columns_stay_as_they_were(vector_add: tuple[Path, Path]) -> None:
    path, neff = vector_add
    bare = open_capture(path)
    capture = attach_neff(bare, neff)
    for name in ("instructions", "active", "semaphores", "throttle", "dma"):
        before = bare.table(name)
        after = capture.table(name)
        changed = {"source_memory", "dest_memory"} if name == "dma" else set()
        kept = [column for column in before.column_names if column not in changed]
        assert after.select(kept).equals(before.select(kept))
    assert capture.table("dma", ["variable"]).column_names == ["variable"]


def test_labels_of_instructions(shared: Path, tmp_path: Path) -> None:
    path = min((shared / "captures" / "trn2-v6-attention").glob("*.ntff"))
    trace = open_trace(path)
    programs = programs_of(trace)
    vector = programs["sg00"].words["vector"]
    count = len(vector) // WORD
    programs["sg00"].assembly["vector"] = [
        entry(0, parents=[1000 + number] if number > 1 else []) for number in range(count)
    ]
    programs["sg00"].backend["vector"] = [
        entry(1000 + number, f"I-7-{number}", [7], type=1) for number in range(2, count)
    ]
    file = of_trace(trace, programs)
    file.debug = {
        "debug_info/debug_info_penguin.dbg_sg000000": debug_file(
            [
                entry(7, "bfloat16<128 x 512> $7[i]", [3],
                      attributes={"kernel_name": "0", "kernel_file": "0", "kernel_line": "42"}),
            ],
            sources=["/home/author/rms.py"],
            kernels=["rms_kernel"],
        ),
        "debug_info/debug_info_hlo.dbg_sg000000": debug_file(
            [entry(3, "%multiply.3", [5],
                   attributes={"source_file": "/x/m.py", "source_line": "9"})]
        ),
        "debug_info/debug_info_pttf.dbg_sg000000": debug_file([entry(5, "_norm.3")]),
    }  # fmt: skip
    capture = attach_neff(open_capture(path), file.write(tmp_path / "k.neff"))
    rows = [row for row in capture.instructions.to_pylist() if row["engine"] == "vector"]
    named = [row for row in rows if row["bir_instruction_name"]]
    assert named
    for row in named:
        number = row["compiler_pc"]
        assert row["bir_instruction_name"] == f"I-7-{number}"
        assert row["bir_id"] == f"sg0000:{1000 + number}"
        assert row["raw_penguin_id"] == 7
        assert row["hlo_name"] == "%multiply.3"
        assert row["layer"] == "_norm.3"
        assert row["kernel_name"] == "rms_kernel"
        assert row["nki_source_location"] == "rms.py:42"
        assert row["hlo_source_location"] == "m.py:9"
        assert row["instruction_type"] == "REGULAR"
    others = [row for row in rows if not row["bir_instruction_name"]]
    assert all(row["layer"] is None for row in others)
    # rows of the runtime's own code have no word in the program
    held = trace.program
    inserted = {
        (int(held.core[slot]), int(held.engine[slot]), int(held.pc[slot]))
        for slot in np.flatnonzero(held.inserted)
    }
    for row in rows:
        assert (row["compiler_pc"] is None) == ((row["pcore_idx"], 3, row["pc"]) in inserted)


def test_dynamic_dma_gets_tensors(shared: Path, tmp_path: Path) -> None:
    path = min((shared / "captures" / "trn2-v6-attention").glob("*.ntff"))
    trace = open_trace(path)
    programs = programs_of(trace)
    main = programs["sg00"]
    expected = 0
    for engine in ("gpsimd", "sync", "scalar"):
        words = []
        for at in range(0, len(main.words[engine]), WORD):
            ran = bytearray(main.words[engine][at : at + WORD])
            if ran[0] == DIRECT:
                ran[0] = 0xD4
                for side in (16, 40):
                    if not ran[side + 7] & 0x20:
                        address = int.from_bytes(ran[side : side + 8], "little")
                        number = 0 if 0x8020 <= address >> 32 < 0x8040 else 1
                        ran[side : side + 8] = bytes([0, 0, 0, 0, number, 0, 0, 0x10])
                    expected += bool(ran[side + 7] & 0x20)
            words.append(bytes(ran))
        main.words[engine] = b"".join(words)
    main.variables = {
        "SB": {"type": "state-buffer", "var_id": 0},
        "q": {"type": "input", "var_id": 1, "size": 4},
        "table": {"type": "dge-table", "var_id": 8, "list": [1, 1, 1, 1, 1, 1, 1, 1]},
    }
    bare = open_capture(path)
    capture = attach_neff(bare, of_trace(trace, programs).write(tmp_path / "k.neff"))
    before, after = bare.dma.to_pylist(), capture.dma.to_pylist()
    linked = [row for row in after if row["variable"]]
    assert expected
    assert linked
    assert {row["variable"] for row in linked} == {"q"}
    for old, new in zip(before, after, strict=True):
        if old["source_memory"] != "unknown":
            assert new["source_memory"] == old["source_memory"]
        assert new["block_id"] is None
    issues = {issue.id: issue.what for issue in capture.quality}
    assert "tensors of dynamic DMA" in issues["program-joined"]
    opcodes = set(capture.instructions["compiler_opcode"].to_pylist())
    assert opcodes == {None, "PSEUDO_DMA_DIRECT2D"}


def test_transposes_of_inferentia2_come_from_debug_information(
    shared: Path, tmp_path: Path
) -> None:
    path = shared / "captures" / "inf2-v5-matmul" / "matmul_128x128x512.ntff"
    trace = open_trace(path)
    programs = programs_of(trace)
    words = programs["sg00"].words["tensor"]
    kinds = [words[at] for at in range(0, len(words), WORD)]
    last = max(number for number, code in enumerate(kinds) if code == 0x02)
    programs["sg00"].assembly["tensor"] = [entry(0, parents=[n + 1]) for n in range(len(kinds))]
    programs["sg00"].backend["tensor"] = [
        entry(n + 1, f"I-{n}", [1], type=3 if n == last else 1) for n in range(len(kinds))
    ]
    bare = open_capture(path)
    assert "transpose_flops" not in bare.summary
    capture = attach_neff(bare, of_trace(trace, programs).write(tmp_path / "k.neff"))
    rows = capture.instructions.to_pylist()
    transposes = [row for row in rows if row["tensor_instruction_type"] == "TRANSPOSE"]
    assert {row["opcode"] for row in transposes} == {"MATMUL"}
    assert {row["compiler_pc"] for row in transposes} == {last}
    flops = sum(row["raw_flops"] for row in transposes)
    assert capture.summary["transpose_flops"] == flops > 0
    moved = capture.summary["hbm_read_bytes"] + capture.summary["hbm_write_bytes"]
    intensity = (capture.summary["hardware_flops"] - flops) / moved
    assert capture.summary["mm_arithmetic_intensity"] == pytest.approx(intensity, rel=1e-12)
    assert "transposes-unmarked" not in {issue.id for issue in capture.quality}


# Against the vendor's own output -----------------------------------------------------------------

_SIDE = re.compile(
    r"(src|dst)_(?:var_id=(\d+) \1_var_offset=(\d+)|table_offset_imm=(\d+) \1_table_index=(\d+))"
)


def as_compiled(trace: Trace, rows: list[dict]) -> dict[str, Program]:
    """The programs with the words that the vendor's compiler texts describe put back."""
    programs = programs_of(trace)
    for row in rows:
        if "compiler_opcode" not in row:
            continue
        name = row.get("subgraph", "sg00")
        engine = row["subgroup"].lower()
        words = bytearray(programs[name].words[engine])
        at = row["compiler_pc"] * WORD
        if row["compiler_opcode"] == "PSEUDO_DMA_TRIGGER":
            queue, block = re.search(r"(q\S+) block_id=(\d+)", row["compiler_operands"]).groups()
            word = bytearray(trigger(queue.replace("qSync", "qSP"), int(block)))
            word[2:12] = words[at + 2 : at + 12]
            words[at : at + WORD] = word
        else:
            words[at] = 0xD4
            for side, variable, offset, table, index in _SIDE.findall(row["compiler_operands"]):
                flag = 0x10 if variable else 0x20
                place = at + {"src": 16, "dst": 40}[side]
                words[place : place + 8] = (
                    int(offset or table).to_bytes(4, "little")
                    + int(variable or index).to_bytes(2, "little")
                    + bytes([0, flag])
                )
        programs[name].words[engine] = bytes(words)
    for row in rows:
        queues = programs[row.get("subgraph", "sg00")].queues
        for number, name in re.findall(r"S\[(\d+)\] \((q\w+)\)", row["operands"]):
            own = name
            for short, printed in (("qPool", "qGpSimd"), ("qAct", "qScalar"), ("qSP", "qSync")):
                own = own.replace(printed, short)
            held = queues.setdefault(own, {"semaphore_set": []})["semaphore_set"]
            held += [int(number)] * (int(number) not in held)
    return programs


def vendor_pairs(shared: Path) -> list[Path]:
    return [
        path
        for path in sorted((shared / "captures").glob("*/*.ntff"))
        if path.with_suffix(".json.gz").is_file()
    ]


def test_word_numbers_and_compiler_texts_equal_the_vendors(shared: Path, tmp_path: Path) -> None:
    paths = vendor_pairs(shared)
    assert len(paths) == 20
    texts = 0
    for path in paths:
        rows = json.loads(gzip.decompress(path.with_suffix(".json.gz").read_bytes()))["instruction"]
        trace = open_trace(path)
        neff = of_trace(trace, as_compiled(trace, rows)).write(tmp_path / f"{path.stem}.neff")
        table = attach_neff(open_capture(path, "vendor"), neff).instructions
        ours = {
            (row["start_ts"], row["engine"], row["pc"], row["pcore_idx"]): row
            for row in table.to_pylist()
        }
        assert len(ours) == len(rows) == table.num_rows
        for row in rows:
            core = int(row.get("subgraph", "sg00").removeprefix("sg"))
            mine = ours[row["timestamp"], row["subgroup"].lower(), row["pc"], core]
            assert mine["compiler_pc"] == row.get("compiler_pc")
            assert mine["compiler_opcode"] == row.get("compiler_opcode")
            assert mine["operands"] == row["operands"]
            assert mine["compiler_operands"] == row.get("compiler_operands")
            texts += "compiler_operands" in row
    assert texts > 100


def whole_program(trace: Trace, data: dict) -> NeffFile:
    """A NEFF that says what the vendor's output of a trace says about its program."""
    rows = data["instruction"]
    programs = as_compiled(trace, rows)
    penguin: dict[int, bytes] = {}
    hlo: dict[int, bytes] = {}
    framework: dict[int, bytes] = {}
    parents: dict[tuple[str, str], dict[int, int]] = {}
    for row in rows:
        if not row["bir_id"]:
            continue
        name, engine = row.get("subgraph", "sg00"), row["subgroup"].lower()
        parents.setdefault((name, engine), {})[row["compiler_pc"]] = row["raw_bir_id"]
        kind = {"REGULAR": 1, "TRANSPOSE": 3}.get(row["instruction_type"], 0)
        entries = programs[name].backend.setdefault(engine, [])
        above = [row["raw_penguin_id"]] if row["penguin_id"] else []
        entries.append(entry(row["raw_bir_id"], row["bir_instruction_name"], above, type=kind))
        if above:
            up = [row["raw_hlo_id"]] if row["hlo_name"] else []
            penguin[above[0]] = entry(above[0], "loop", up)
        if row["hlo_name"]:
            layers = row["raw_framework_id"] if row["layer"] != "Unknown" else []
            hlo[row["raw_hlo_id"]] = entry(row["raw_hlo_id"], row["hlo_name"], layers)
            if layers:
                framework[layers[0]] = entry(layers[0], row["layer"])
    for (name, engine), of in parents.items():
        words = len(programs[name].words[engine]) // WORD
        programs[name].assembly[engine] = [
            entry(0, parents=[of[number]] if number in of else []) for number in range(words)
        ]
    main = programs["sg00"]
    kinds = {"IN": "input", "OUT": "output", "WEIGHT": "file"}
    main.variables = {"SB": {"type": "state-buffer", "var_id": 0}}
    for number, node in enumerate(data["neff_node"], 20):
        if node["variable_name"]:
            shape = [int(size) for size in node["shape"].strip("[]").split()]
            main.variables[node["variable_name"]] = {
                "type": kinds[node["type"]], "var_id": number, "size": int(node["size"]),
            }  # fmt: skip
            main.tensor_map[node["variable_name"]] = {
                "sim_format": node["format"], "sim_shape": shape,
            }  # fmt: skip
    for row in data["dma"]:
        if row["aggregated"] == "yes":
            queue = row["subgroup"].replace("qSync", "qSP")
            label = {"SB": "SB"}
            source, dest = row["source"][0][0], row["dest"][0]
            main.dma.setdefault("sync", []).append(
                planned(queue, row["block_id"], label.get(source, row["variable"]),
                        label.get(dest, row["variable"]), row["write_size"], read=row["read_size"])
            )  # fmt: skip
    file = of_trace(trace, programs)
    for name, level in (("penguin", penguin), ("hlo", hlo), ("pttf", framework)):
        file.debug[f"debug_info/debug_info_{name}.dbg_sg000000"] = debug_file([*level.values()])
    if flops := data["summary"][0]["model_flops"]:
        file.more["hlo_stats.json"] = json.dumps({"HloMacCount": flops // 2}).encode()
    file.more["info.json"] = json.dumps(
        {"tool_version": data["summary"][0]["compiler_version"]}
    ).encode()
    return file


SETTLED = (
    "compiler_version", "weight_size_bytes", "inputs_and_weights_size_bytes",
    "inputs_outputs_weights_size_bytes", "mbu_min_read_util_percent", "hbm_read_bytes",
    "hbm_write_bytes", "sbuf_read_bytes", "sbuf_write_bytes", "mbu_estimated_percent",
    "transpose_flops", "mm_arithmetic_intensity", "mfu_inst_estimated_percent",
    "mfu_inst_max_achievable_estimated_percent", "model_flops", "mfu_estimated_percent",
    "mfu_hlo_estimated_percent", "mfu_max_achievable_estimated_percent",
    "mfu_hlo_max_achievable_estimated_percent", "spill_save_bytes", "spill_reload_bytes",
)  # fmt: skip


@pytest.mark.slow
def test_all_that_a_program_settles_equals_the_vendors(shared: Path, tmp_path: Path) -> None:
    compared: Counter[str] = Counter()
    for path in vendor_pairs(shared):
        data = json.loads(gzip.decompress(path.with_suffix(".json.gz").read_bytes()))
        trace = open_trace(path)
        neff = whole_program(trace, data).write(tmp_path / f"{path.stem}.neff")
        capture = attach_neff(open_capture(path, "vendor"), neff)

        ours = {
            (row["start_ts"], row["engine"], row["pc"], row["pcore_idx"]): row
            for row in capture.instructions.to_pylist()
        }
        for row in data["instruction"]:
            core = int(row.get("subgraph", "sg00").removeprefix("sg"))
            mine = ours[row["timestamp"], row["subgroup"].lower(), row["pc"], core]
            for name in ("bir_id", "bir_instruction_name", "penguin_id", "hlo_name", "layer",
                         "instruction_type"):  # fmt: skip
                assert (mine[name] or "") == row[name], (path.name, name)
                compared[name] += bool(row[name])

        theirs = {n["variable_name"]: n for n in data["neff_node"] if n["variable_name"]}
        for row in capture.tensors.to_pylist():
            node = theirs.pop(row["variable_name"])
            for name in ("type", "format", "shape", "load_to_sbuf_dma_count",
                         "load_to_sbuf_total_size_bytes", "load_to_sbuf_avg_size_bytes",
                         "load_to_sbuf_repeat_factor"):  # fmt: skip
                assert row[name] == node.get(name)
            assert row["size"] == int(node["size"])
        assert not theirs

        planned_rows = [row for row in data["dma"] if row["aggregated"] == "yes"]
        assert [
            (r["start_ts"], r["duration_ns"], r["queue_name"], r["block_id"], r["variable"])
            for r in capture.table("transfers").to_pylist()
        ] == [
            (r["timestamp"], r["duration"], r["subgroup"], r["block_id"], r["variable"])
            for r in planned_rows
        ]
        compared["transfers"] += len(planned_rows)

        summary = data["summary"][0]
        for name in SETTLED:
            if isinstance(summary.get(name), str):
                assert capture.summary[name] == summary[name]
            else:  # float rounding of the tool's own arithmetic
                found = capture.summary.get(name, 0)
                assert found == pytest.approx(summary.get(name, 0), rel=1e-9), (path.name, name)
            compared[name] += name in summary
    assert compared["transfers"] == 15
    assert compared["hlo_name"] > 200
    assert compared["transpose_flops"] >= 15
    assert compared["model_flops"] == 20
