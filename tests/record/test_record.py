from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.captures.registry import open_capture
from roofline.errors import CaptureError, QueryError, StudyError
from roofline.record.environment import neuron_environment, prepare_environment
from roofline.record.manifest import (
    Manifest,
    Problem,
    Run,
    has_manifest,
    load_manifest,
    to_toml,
    write_manifest,
)
from roofline.record.schedule import Schedule

STUDY = "rmsnorm-4x512-bf16"
PLAIN = "schema_version = 1\ncreated = ''\ndevice = 'cpu'\nname = 'x'\n"


# Manifest ----------------------------------------------------------------------------------------


def test_manifest_round_trip(tmp_path: Path) -> None:
    manifest = Manifest(
        schema_version=1,
        created="2026-12-01T00:00:00+00:00",
        device="neuron",
        name='a "name"\nwith \\ and µ',
        core=0,
        missing=["x"],
        environment={"A KEY": "1", "NEURON_RT": ""},
        schedule={"active": 5},
        run=[
            Run(
                variant="naive",
                folder="naive/run",
                params={"rows": 4},
                host_wall_s=[1e-05, 2.5],
                launches=6.0,
                problems=[Problem(id="a", what="b = [c]", remedy="d")],
            ),
            Run(variant="other", folder="other/run"),
        ],
    )
    write_manifest(tmp_path, manifest)
    assert has_manifest(tmp_path)
    assert load_manifest(tmp_path) == manifest
    assert load_manifest(tmp_path / "manifest.toml") == manifest
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.toml"]


SCALARS = st.one_of(
    st.text(), st.integers(-(2**63), 2**63 - 1), st.booleans(), st.floats(allow_nan=False)
)


@given(
    st.dictionaries(st.text(), SCALARS),
    st.dictionaries(st.text(min_size=1), st.dictionaries(st.text(), SCALARS, min_size=1)),
    st.lists(st.dictionaries(st.text(), st.lists(SCALARS, min_size=1), min_size=1), min_size=1),
)
def test_toml_is_read_back_as_it_was(scalars: dict, tables: dict, rows: list) -> None:
    data = {**{f"s{key}": value for key, value in scalars.items()}, **tables, "rows ": rows}
    clean = json.loads(json.dumps(data).encode("utf-8", "replace"))
    assert tomllib.loads(to_toml(data)) == clean


@pytest.mark.parametrize(
    "text",
    [
        "schema_version = 9\ncreated = ''\ndevice = 'cpu'\nname = 'x'",
        "schema_version = 1",
        "not toml",
        f"{PLAIN}[[run]]\nvariant = 'a'\nfolder = '../../etc'",
        f"{PLAIN}[[run]]\nvariant = 'a'\nfolder = 'a'\ntrace = '/etc/passwd'",
    ],
)
def test_wrong_manifests_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.toml").write_text(text)
    with pytest.raises(CaptureError, match=r"manifest\.toml"):
        load_manifest(tmp_path)


def test_keys_of_later_versions_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text(f"{PLAIN}new = [1]\n")
    assert load_manifest(tmp_path).name == "x"


# Environment and schedule ------------------------------------------------------------------------


def test_environment_is_set_before_torch_and_the_users_stays(tmp_path: Path) -> None:
    held = {"NEURON_RT_VISIBLE_CORES": "2"}
    notes = prepare_environment(tmp_path, core=0, environment=held, loaded={})
    assert held["NEURON_RT_VISIBLE_CORES"] == "2"
    assert held["NEURON_FRAMEWORK_DEBUG"] == held["NEURON_RT_ENABLE_DGE_NOTIFICATIONS"] == "1"
    assert held["TORCH_NEURONX_NEFF_CACHE_DIR"].startswith(str(tmp_path))
    assert len(notes) == 1
    assert "NEURON_RT_VISIBLE_CORES=2" in notes[0]
    assert "NEURON_RT_ENABLE_DGE_NOTIFICATIONS" not in neuron_environment(tmp_path, dge=False)
    late = prepare_environment(tmp_path, environment={}, loaded={"torch_neuronx": None})
    assert "imported before" in late[0]


def test_two_ways_to_start_the_profiler_are_refused(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="must not be combined"):
        prepare_environment(tmp_path, environment={"NEURON_RT_INSPECT_ENABLE": "1"}, loaded={})
    prepare_environment(tmp_path, environment={"NEURON_RT_INSPECT_ENABLE": "0"}, loaded={})


def test_schedule_counts() -> None:
    assert Schedule(wait=2, warmup=1, active=1).steps == 4
    for wrong in ({"active": 0}, {"wait": -1}, {"repeats": -1}):
        with pytest.raises(QueryError):
            Schedule(**wrong)


# On this host ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the shipped study, made by the command in a process of its own."""
    pytest.importorskip("torch")
    from tests.record.process import roofline

    folder = tmp_path_factory.mktemp("recording") / "out"
    done = roofline("record", STUDY, "-o", str(folder), "--active", "3", "--repeats", "4")
    assert done.returncode == 0, done.stderr
    assert "next: roofline report" in done.stdout
    return folder


@pytest.mark.slow
def test_the_host_side_is_recorded(recorded: Path) -> None:
    manifest = load_manifest(recorded)
    assert manifest.device == "cpu"
    assert "TorchNeuron" in manifest.missing[0]
    assert manifest.op == "rmsnorm"
    assert manifest.schedule["active"] == 3
    assert {"torch", "python", "roofline"} <= manifest.versions.keys()
    assert [(run.variant, run.launches) for run in manifest.run] == [
        ("naive", 6.0), ("fused", 1.0), ("compiled", 1.0),
    ]  # fmt: skip
    for run in manifest.run:
        assert run.params == {"rows": 4, "cols": 512}
        assert len(run.host_wall_s) == 4
        assert run.device_s == run.window_s == []
        capture = open_capture(recorded / run.trace)
        steps = capture.table("annotations")["name"].to_pylist()
        assert Counter(name.split("#")[0] for name in steps) == {
            "ProfilerStep": 3, f"roofline.{run.variant}": 3,
        }  # fmt: skip
    problems = {run.variant: [problem.id for problem in run.problems] for run in manifest.run}
    assert problems == {"naive": ["host-scalar"], "fused": [], "compiled": []}
    assert manifest.clocks == {"host_wall_s": "host_wall"}
    (skipped,) = manifest.skipped
    assert skipped.variant == "nki-onepass"
    assert skipped.why == "needs a neuron device and the module nki, not on this host"
    assert (recorded / "study" / "variants.py").is_file()


@pytest.mark.slow
def test_the_report_reads_it_back(recorded: Path, tmp_path: Path) -> None:
    from tests.record.process import roofline

    text = roofline("report", str(recorded), "-o", str(tmp_path / "r")).stdout
    assert "no device took part" in text
    assert "1 x aten::rsqrt [[4,1]]" in text
    data = json.loads(roofline("report", str(recorded), "--json").stdout)
    naive = data["run"][0]
    assert naive["work"] == {
        "flops": 8200, "minimal_bytes": 9216, "dispatched_bytes": 33840, "launches": 6,
        "partial": False,
    }  # fmt: skip
    assert [(op["name"], op["shapes"], op["launches"]) for op in naive["trace_launches"]["ops"]
            if op["launches"]] == [
        ("aten::mul", "[[4,512],[4,512]]", 3),
        ("aten::mean", "[[4,512],[],[],[]]", 3),
        ("aten::add", "[[4,1],[],[]]", 3),
        ("aten::rsqrt", "[[4,1]]", 3),
        ("aten::mul", "[[4,512],[4,1]]", 3),
        ("aten::mul", "[[4,512],[512]]", 3),
    ]  # fmt: skip
    assert json.loads((tmp_path / "r" / "recording.json").read_text())["name"] == STUDY


@pytest.mark.slow
def test_recording_one_owns_code(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from roofline.record import Recording

    x = torch.randn(8, 16)
    with Recording(tmp_path / "out", name="mine", schedule=Schedule(active=2)) as recording:
        with recording.run("add", params={"rows": 8, "cols": 16}, dtype="fp32") as session:
            for _ in session.steps():
                x + x
        with recording.run("measured") as session:
            session.measure(lambda: torch.softmax(x, -1))
        with pytest.raises(QueryError, match="recorded twice"):
            recording.run("measured")
        with pytest.raises(QueryError, match="no step ran"), recording.run("nothing"):
            pass
    manifest = load_manifest(tmp_path / "out")
    assert [run.launches for run in manifest.run] == [1.0, 1.0]
    assert manifest.run[0].folder == "add/8x16-fp32"
    with pytest.raises(QueryError, match="already holds a recording"):
        Recording(tmp_path / "out", name="again")


@pytest.mark.slow
def test_a_failing_variant_keeps_what_was_recorded(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from roofline.record import Recording

    x = torch.randn(4)

    def fail() -> None:
        raise RuntimeError("in the middle")

    def run() -> None:
        with Recording(tmp_path / "out", name="mine") as recording:
            for name, call in (("good", lambda: x + x), ("bad", fail)):
                with recording.run(name) as session:
                    session.measure(call)

    with pytest.raises(RuntimeError, match="in the middle"):
        run()
    assert [run.variant for run in load_manifest(tmp_path / "out").run] == ["good"]


@pytest.mark.slow
def test_what_cannot_be_recorded_is_refused_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from roofline.record import record
    from tests.record.process import roofline

    done = roofline("record", STUDY, "-o", str(tmp_path / "a"), "--require-device")
    assert done.returncode == 2
    assert done.stderr.startswith("roofline: no Neuron device: torch_neuronx")
    assert not (tmp_path / "a").exists()
    with pytest.raises(StudyError, match="no variant 'colour'"):
        list(record(STUDY, tmp_path / "b", variants=["colour"]))
    study = tmp_path / "own"
    study.mkdir()
    source = Path(__file__).resolve().parents[2] / "captures" / STUDY
    for name in ("study.toml", "variants.py"):
        (study / name).write_text((source / name).read_text() + "\n# changed\n")
    with pytest.raises(StudyError, match="--trust"):
        list(record(study, tmp_path / "c"))


def test_struct_defaults_are_left_out() -> None:
    text = to_toml(msgspec.to_builtins(Run(variant="a", folder="b")))
    assert "problems" not in text
