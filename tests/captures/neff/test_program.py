from __future__ import annotations

import gzip
import json
import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.captures.neff import container
from roofline.captures.neff.blocks import list_blocks, trigger_of
from roofline.captures.neff.container import is_neff
from roofline.captures.neff.debug import read_debug
from roofline.captures.neff.program import open_neff
from roofline.captures.neff.tensors import list_tensors, sizes, tensor_table
from roofline.errors import CaptureError
from tests.captures.neff_builder import (
    NeffFile,
    Program,
    debug_file,
    entry,
    pack,
    planned,
    tar,
    trigger,
)

VARIABLES = {
    "SB": {"type": "state-buffer", "var_id": 0},
    "x": {"type": "input", "var_id": 1, "size": 262144},
    "y": {"type": "output", "var_id": 2, "size": 131072},
    "w": {"type": "file", "var_id": 3, "size": 1024, "file_name": "value_w.npy"},
    "spill": {"type": "virtual", "var_id": 4, "size": 64, "backing_variable_off": 0},
    "table": {"type": "dge-table", "var_id": 5, "list": [1, 2]},
}
TENSOR_MAP = {
    "x": {"sim_format": "NC", "sim_shape": [128, 512], "sim_dtype": "float32"},
    "y": {"sim_format": "NC", "sim_shape": [128, 512], "sim_dtype": "bfloat16"},
    "w_in_graph": {"sim_format": "C", "sim_shape": [256], "sim_dtype": "float32",
                   "tf_file": "value_w.npy"},
}  # fmt: skip


def sample(**more: object) -> NeffFile:
    program = Program(
        words={"sync": trigger("qSPIO0", 0) + trigger("qSPIO0", 1)},
        variables=VARIABLES,
        tensor_map=TENSOR_MAP,
        dma={"sync": [planned("qSPIO0", 0, "x", "SB", 4096), planned("qSPIO0", 1, "SB", "y", 64)]},
        queues={"qSPIO0": {"type": "in", "semaphore_set": [20, 21]}},
    )
    return NeffFile(programs={"sg00": program}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("plain", [False, True])
def test_header_members_and_tensors(tmp_path: Path, plain: bool) -> None:
    file = sample(more={"value_w.npy": b"\x93NUMPY constants of the model"})
    neff = open_neff(file.write(tmp_path / "k.neff", plain=plain))
    assert neff.header.uuid == file.uuid
    assert neff.header.version == (2, 0)
    assert neff.header.features == ("virtual-core", "v3-2x-4x-dve-perf-mode")
    assert neff.header.cores_per_lnc == 1
    assert neff.header.hash == bytes(range(16)).hex()
    assert neff.compiler_version == "2.21.18209.0"
    assert neff.node == (1, "kelf-0.json")
    assert neff.hardware == ("trn2",)
    assert "value_w.npy" not in neff.members
    tensors = list_tensors(neff)
    assert [(t.name, t.role, t.shape, t.dtype, t.size) for t in tensors] == [
        ("x", "IN", (128, 512), "fp32", 262144),
        ("y", "OUT", (128, 512), "bf16", 131072),
        ("w", "WEIGHT", (256,), "fp32", 1024),
    ]
    assert sizes(tensors) == {
        "weight_size_bytes": 1024,
        "inputs_and_weights_size_bytes": 263168,
        "inputs_outputs_weights_size_bytes": 394240,
    }
    rows = tensor_table(neff).to_pylist()
    assert rows[0]["shape"] == "[128 512]"
    assert rows[0]["format"] == "NC"
    assert rows[0]["node"] == 1


def test_a_tensor_of_two_cores_is_listed_once(tmp_path: Path) -> None:
    file = sample()
    file.programs["sg01"] = Program(
        variables={"x": VARIABLES["x"], "only here": {"type": "file", "var_id": 9, "size": 4}}
    )
    neff = open_neff(file.write(tmp_path / "k.neff"))
    assert [(t.name, t.core) for t in list_tensors(neff)] == [
        ("x", "sg00"), ("y", "sg00"), ("w", "sg00"), ("only here", "sg01"),
    ]  # fmt: skip


def test_a_tensor_without_size_leaves_the_sums_unknown(tmp_path: Path) -> None:
    file = sample()
    file.programs["sg00"].variables = {"x": {"type": "input", "var_id": 1}}
    assert sizes(list_tensors(open_neff(file.write(tmp_path / "k.neff")))) == {}


def test_planned_transfers(tmp_path: Path) -> None:
    file = sample()
    file.programs["sg00"].dma["gpsimd"] = [
        planned("qPoolIO0", 0, "w", "SB", 512, read=1024),
        planned("qPoolIO0", 1, "SB", "spill", 64, transpose_op="2-byte"),
        planned("qPoolIO0", 2, "no such", "SB", 64),
        {"id": 3, "instance_name": "qPoolIO0", "desc": [{"from_arr": [], "to": "SB"}]},
    ]
    subgraph = open_neff(file.write(tmp_path / "k.neff")).subgraphs["sg00"]
    blocks = list_blocks(subgraph)
    assert len(blocks) == 6
    load, store = blocks["qSPIO0", 0], blocks["qSPIO0", 1]
    assert (load.source_memory, load.dest_memory, load.variable) == ("hbm", "sbuf", "x")
    assert (store.source_memory, store.dest_memory, store.variable) == ("sbuf", "hbm", "y")
    assert (load.read_bytes, load.write_bytes) == (4096, 4096)
    cast, spill = blocks["qPoolIO0", 0], blocks["qPoolIO0", 1]
    assert (cast.read_bytes, cast.write_bytes) == (1024, 512)
    assert spill.transposes
    assert spill.writes_scratch
    assert blocks["qPoolIO0", 2].source_memory == "unknown"
    assert blocks["qPoolIO0", 3].write_bytes is None
    assert trigger_of(subgraph.words("sync")[1].tobytes()) == ("qSPIO0", 1)


def test_debug_levels() -> None:
    data = debug_file(
        [
            entry(0, "first", [3, 300], attributes={"kernel_file": "0", "kernel_line": "12"}),
            entry(7, "second", type=3, dependencies=[1, 2]),
            entry(7, "again"),
        ],
        kind=1,
        sources=["/home/author/k.py"],
        kernels=["rms"],
    )
    level = read_debug(data, "x")
    assert [(e.id, e.name, e.parents, e.type) for e in level.entries] == [
        (0, "first", (3, 300), 0), (7, "second", (), 3), (7, "again", (), 0),
    ]  # fmt: skip
    assert level.by_id[7].name == "second"
    assert level.by_id[7].dependencies == (1, 2)
    assert level.attribute(level.entries[0], "kernel_file") == "/home/author/k.py"
    assert level.attribute(level.entries[0], "kernel_line") == "12"


@pytest.mark.parametrize(
    "data", [b"\x1b", b"\x0a\xff", b"\x0f", b"\x08" + b"\xff" * 11, b"\x0a\x05abc", b"\x0d\x00"]
)
def test_damaged_debug_data_is_refused(data: bytes) -> None:
    with pytest.raises(CaptureError):
        read_debug(data, "x.dbg")


# Hostile input -----------------------------------------------------------------------------------


def with_members(tmp_path: Path, members: dict[str, bytes]) -> Path:
    path = tmp_path / "k.neff"
    path.write_bytes(pack(tar(members), sample()))
    return path


@pytest.mark.parametrize("name", ["/etc/passwd", "a/../../b", "..", "a\\b", "C:/x"])
def test_hostile_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CaptureError, match="refused member name"):
        open_neff(with_members(tmp_path, {"info.json": b"{}", name: b"x"}))


def test_links_and_folders_are_ignored_and_the_first_duplicate_wins(tmp_path: Path) -> None:
    import io
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, kind in (("../link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE),
                           ("folder", tarfile.DIRTYPE), ("pipe", tarfile.FIFOTYPE)):  # fmt: skip
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        for data in (b"first", b"second"):
            info = tarfile.TarInfo("info.json")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    path = tmp_path / "k.neff"
    path.write_bytes(pack(out.getvalue(), sample()))
    assert dict(open_neff(path).members) == {"info.json": b"first"}


def test_a_gzip_bomb_is_refused_before_it_fills_memory(tmp_path: Path) -> None:
    big = tar({"a.bin": bytes(100 << 20)})
    path = tmp_path / "k.neff"
    path.write_bytes(pack(big, sample()))
    assert path.stat().st_size < 200_000
    with pytest.raises(CaptureError, match="inflates to more than"):
        open_neff(path)


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [("MAX_MEMBERS", 3, "more than 3 members"), ("MAX_MEMBER_BYTES", 10, "exceeds the limit"),
     ("MAX_KEPT_BYTES", 500, "exceeds the limit")],
)  # fmt: skip
def test_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, message: str
) -> None:
    path = sample().write(tmp_path / "k.neff")
    monkeypatch.setattr(container, limit, value)
    with pytest.raises(CaptureError, match=message):
        open_neff(path)


def test_sizes_that_lie(tmp_path: Path) -> None:
    archive = bytearray(tar({"info.json": b"{}"}))
    archive[124:136] = b"77777777777\0"
    checksum = sum(archive[:512]) - sum(archive[148:156]) + 256
    archive[148:156] = f"{checksum:06o}\0 ".encode()
    path = tmp_path / "k.neff"
    path.write_bytes(pack(bytes(archive), sample()))
    with pytest.raises(CaptureError, match="exceeds the limit"):
        open_neff(path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    good = sample().write(tmp_path / "k.neff").read_bytes()
    path = tmp_path / "damaged.neff"
    cases = {
        good[:500]: "no NEFF header",
        good[:2000]: "cut short",
        struct.pack("<QQ", 1, 1024) + good[16:]: "not a NEFF",
        good[:1024] + b"\x1f\x8b" + bytes(len(good) - 1026): "damaged gzip",
        pack(b"", sample()): "without files",
        pack(bytes([1]) * 512, sample(), plain=True): "damaged tar header",
        pack(tar({"info.json": b"{"}), sample()): "no subgraph",
    }
    for data, message in cases.items():
        path.write_bytes(data)
        with pytest.raises(CaptureError, match=message):
            list_tensors(open_neff(path))
    packed = gzip.compress(tar({"info.json": random.Random(1).randbytes(40000)}))[:-200]
    header = bytearray(good[:1024])
    header[16:24] = struct.pack("<Q", len(packed))
    path.write_bytes(bytes(header) + packed)
    with pytest.raises(CaptureError, match="cut short"):
        open_neff(path)


@pytest.mark.parametrize(
    "definition",
    [b"[" * 100_000, b"[1]", b"\xff\xfe", b'{"var": 3, "pe_instr": 7, "dma_queue": []}'],
)
def test_strange_json_is_refused_or_empty(tmp_path: Path, definition: bytes) -> None:
    file = sample()
    members = file.members() | {"sg00/def.json": definition}
    neff = open_neff(with_members(tmp_path, members))
    try:
        tensors = list_tensors(neff)
    except CaptureError:
        tensors = ()
    assert tensors == ()


@given(st.integers(0, 4000), st.binary(min_size=1, max_size=8))
@settings(max_examples=150, deadline=None)
def test_mutated_files_never_crash(at: int, junk: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = sample().write(Path(folder) / "k.neff", plain=True)
        data = path.read_bytes()
        path.write_bytes(data[:at] + junk + data[at + len(junk) :])
        try:
            neff = open_neff(path)
            found = len(list_tensors(neff)) + sum(
                len(list_blocks(subgraph)) for subgraph in neff.subgraphs.values()
            )
        except CaptureError:
            found = 0
    assert found <= 5


def test_names_in_json_are_keys_and_never_paths(tmp_path: Path) -> None:
    file = sample()
    members = file.members()
    keys = json.loads(members["sg00/def.json"])
    keys["sp_instr"] = "../../../../etc/passwd"
    neff = open_neff(with_members(tmp_path, members | {"sg00/def.json": json.dumps(keys).encode()}))
    with pytest.raises(CaptureError, match="no member"):
        neff.subgraphs["sg00"].words("sync")


def test_sniff(tmp_path: Path) -> None:
    head = sample().write(tmp_path / "k.neff").read_bytes()[:2048]
    assert is_neff(head)
    assert not is_neff(b'{"a": 1}' * 500)
    assert not is_neff(head[:100])
