"""Damaged traces are refused with offset and section, or decoded: nothing else happens."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roofline.captures.registry import open_capture
from roofline.errors import CaptureError
from tests.captures.ntff import encoder as enc
from tests.captures.ntff.words import direct2d, notify, tensor, unary, word

MARGIN_BYTES = 64 << 20


def sample(version: int) -> bytes:
    """Two small cores with every kind of record."""
    cores = []
    for number in (4, 5):
        words = {
            0: notify(2) + tensor(1, 6, 128) + tensor(2, 6, 512) + word(0xA0),
            2: notify(2) + direct2d(-1, 0x8020_0000_0000, 512, 128),
            3: notify(2) + unary(0x46, 256, dtypes=(7, 7)) + word(0x77),
        }
        records, at = [], 1000
        core = enc.Core(number=number, total_ps=100_000, memory=[("tensor", 512), ("weight", 64)])
        for engine, program in words.items():
            core.programs[engine] = (0x8005_C000_0000 + 0x4000 * engine, program)
        for engine, program in words.items():
            for pc in range(len(program) // 64):
                at += 500
                records.append(enc.instruction_start(engine, core.word(engine, pc), at, wait=3))
                records.append(enc.instruction_end(engine, core.word(engine, pc), at + 400))
        core.rings = [enc.Ring(64, 0, "qPoolDynamic"), enc.Ring(65, 1, "qSPIO0", 3, [(0, 1)])]
        core.sections = {
            0: b"".join(records),
            1: b"".join(enc.semaphore(5, value, 4000 + value) for value in range(4)),
            2: b"",
            4: b"".join(
                enc.packet(engine, ring, step, 5000 + 100 * step, size=512)
                for engine, ring in ((64, 0), (65, 1), (70, 14))
                for step in (1, 5, 6)
            ),
            5: enc.limit(4, 8, 1, 4000) + enc.limit(8, 8, 0, 6000),
        }
        core.clocks = {3: (17, 914_286, 914_260)} if version < 6 else {}
        cores.append(core)
    file = enc.File(version=version, cores=cores, window=(900, 50_000) if version == 6 else None)
    return file.encode()


def run(trace: Path, cuts: int, flips: int, root: Path) -> dict:
    command = [
        sys.executable,
        "-m",
        "tests.captures.ntff.hostile",
        str(trace),
        str(cuts),
        str(flips),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert set(report["outcomes"]) <= {"decoded", "refused"}, report["outcomes"]
    assert report["grown_bytes"] <= 7 * report["size"] + MARGIN_BYTES
    return report


@pytest.mark.parametrize("version", [4, 5, 6])
def test_damaged(version: int, tmp_path: Path, root: Path) -> None:
    trace = tmp_path / "sample.ntff"
    trace.write_bytes(sample(version))
    report = run(trace, 30, 120, root)
    assert report["outcomes"]["refused"] > 30
    assert report["outcomes"]["decoded"] > 10


@pytest.mark.slow
def test_damaged_at_length(tmp_path: Path, root: Path) -> None:
    trace = tmp_path / "sample.ntff"
    trace.write_bytes(sample(6))
    report = run(trace, 1000, 10_000, root)
    assert sum(report["outcomes"].values()) >= 11_000


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "inf2-v5-matmul/matmul_128x128x576.ntff",
        "trn1-v4-vector-add/vector_add_fd1000.ntff",
        "trn2-v6-attention/fused_fp32_s512.ntff",
    ],
)
def test_damaged_public_trace(name: str, shared: Path, root: Path) -> None:
    report = run(shared / "captures" / name, 100, 400, root)
    assert sum(report["outcomes"].values()) >= 500


def test_compressed_trace_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "trace.ntff.gz"
    path.write_bytes(gzip.compress(sample(6)))
    with pytest.raises(CaptureError, match="gunzip it first"):
        open_capture(path)


def test_unknown_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.ntff"
    path.write_bytes(b"\x07" + sample(6)[1:])
    with pytest.raises(CaptureError, match="version 7 is not known; known: 4, 5, 6") as caught:
        open_capture(path)
    assert (caught.value.offset, caught.value.section) == (0, "prologue")


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        (enc.delimited(16, enc.number(6, 1 << 40) + enc.number(7, 4)), "truncated"),
        (enc.delimited(16, enc.number(6, 16) + enc.number(7, 9)), "a section of core 9"),
        (enc.varint(9 << 3 | 5) + b"1234", "wire type 5"),
        (b"\xff" * 12, "a varint does not end"),
        (enc.delimited(15, enc.number(2, 9) + enc.number(3, 8)), "before its start"),
        (enc.delimited(16, b"") * 5000, "more than 4096 sections"),
    ],
)
def test_refused_with_its_place(extra: bytes, what: str, tmp_path: Path) -> None:
    file = enc.File(version=6, cores=[enc.Core(number=4)], window=(0, 10), extra=extra)
    path = tmp_path / "trace.ntff"
    path.write_bytes(file.encode())
    with pytest.raises(CaptureError, match=what) as caught:
        open_capture(path)
    assert caught.value.offset is not None
    assert caught.value.section is not None


def test_example_of_the_documentation_is_this_sample(root: Path) -> None:
    assert (root / "docs/examples/kernel.ntff").read_bytes() == sample(6)


def test_a_trace_that_shrinks_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kernel.ntff"
    path.write_bytes(sample(6))
    whole = open_capture(path).table("instructions")
    small = open_capture(path)
    monkeypatch.setattr("roofline.captures.ntff.trace._READ_WHOLE_BYTES", 0)
    mapped = open_capture(path)
    os.truncate(path, path.stat().st_size // 2)
    assert small.table("instructions") == whole  # read whole: nothing of it can be lost
    with pytest.raises(CaptureError, match="the file shrank while it was read"):
        mapped.table("instructions")
