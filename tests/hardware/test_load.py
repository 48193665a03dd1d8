from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from roofline.errors import HardwareModelError
from roofline.hardware import load
from roofline.hardware.load import (
    known_names,
    list_models,
    load_hardware,
    model_of_instance,
    models_of_core,
)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("trn2", "trn2"),
        ("TRN2", "trn2"),
        ("Trainium2", "trn2"),
        ("NeuronCore-v3", "trn2"),
        ("neuroncore v3", "trn2"),
        ("NeuronCore_V3", "trn2"),
        ("v3", "trn2"),
        ("gen3", "trn2"),
        ("cayman", "trn2"),
        ("trn2.3xlarge", "trn2"),
        ("trn2.48xlarge", "trn2"),
        ("inf2.xlarge", "inf2"),
        ("Inferentia2", "inf2"),
        ("trn1.2xlarge", "trn1"),
        ("trn1.32xlarge", "trn1"),
        ("v2", "trn1"),
        ("NeuronCore-v2", "trn1"),
        ("sunda", "trn1"),
        ("v4", "trn3"),
    ],
)
def test_names_resolve(name, model):
    assert load_hardware(name).name == model


@pytest.mark.parametrize(
    ("name", "generation", "cores", "choices", "default"),
    [
        ("trn1", "v2", 2, (1,), 1),
        ("inf2", "v2", 2, (1,), 1),
        ("trn2", "v3", 8, (1, 2), 2),
        ("trn3", "v4", 8, (1, 2), 2),
    ],
)
def test_what_a_chip_is(name, generation, cores, choices, default):
    view = load_hardware(name)
    assert (view.generation, view.cores_per_chip) == (generation, cores)
    assert (view.lnc_choices, view.lnc, view.working_cores) == (choices, default, default)
    assert view.instances


def test_unknown_names_list_the_known():
    with pytest.raises(HardwareModelError, match=r"unknown hardware 'h100'; known: .*inf2.*trn3"):
        load_hardware("h100")
    with pytest.raises(HardwareModelError, match=r"trn1: no LNC 2; known: 1"):
        load_hardware("trn1", lnc=2)
    with pytest.raises(HardwareModelError, match=r"trn2: no LNC 0; known: 1, 2"):
        load_hardware("trn2", lnc=0)
    for cores in (0, 3):
        with pytest.raises(HardwareModelError, match=rf"{cores} working cores; LNC 2 has 1 to 2"):
            load_hardware("trn2", lnc=2, working_cores=cores)


def test_every_listed_name_loads():
    names = known_names()
    assert {"trn1", "inf2", "trn2", "trn3"} <= set(names)
    for name, path in names.items():
        assert load_hardware(name).path == str(path)


def test_a_file_of_ones_own(tmp_path: Path, root: Path):
    text = (root / "hw_models" / "trn2.toml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text(
        text.replace('name = "trn2"', 'name = "mine"').replace(
            "clock_hz = 2.4e9", "clock_hz = 3e9"
        ),
        encoding="utf-8",
    )
    for given in (mine, str(mine)):
        view = load_hardware(given, lnc=1)
        assert view.name == "mine"
        assert view.tensor_peak("bf16").value == 128 * 128 * 2 * 3e9
    # an edited file is read again
    mine.write_text(text.replace("clock_hz = 2.4e9", "clock_hz = 1.2e9"), encoding="utf-8")
    assert load_hardware(mine).clock_hz("tensor") == 1.2e9


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(HardwareModelError, match=r"nowhere\.toml: No such file"):
        load_hardware(tmp_path / "nowhere.toml")
    with pytest.raises(HardwareModelError, match="not a regular file"):
        load_hardware(tmp_path)
    for content, why in (
        (b"clock = = 3", "not a TOML file"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"a" * 10, "not a TOML file"),
    ):
        bad = tmp_path / "bad.toml"
        bad.write_bytes(content)
        with pytest.raises(HardwareModelError, match=rf"bad\.toml: {why}"):
            load_hardware(bad)


def test_plugins_add_models_and_broken_ones_are_skipped(tmp_path, root, monkeypatch):
    text = (root / "hw_models" / "trn2.toml").read_text(encoding="utf-8")
    names = ('name = "trn2"', 'chip = "Trainium2"', 'core = "NeuronCore-v3"', 'generation = "v3"')
    for name in names:
        text = text.replace(name, name.replace('"', '"lab-', 1))
    (tmp_path / "lab.toml").write_text(text, encoding="utf-8")
    (tmp_path / "labmodels.py").write_text(
        f"PATH = {str(tmp_path / 'lab.toml')!r}\n"
        f"TAKEN = {str(root / 'hw_models' / 'trn1.toml')!r}\n"
        "NOT_A_PATH = 7\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    shipped = list_models()
    entries = [
        EntryPoint(name, f"labmodels:{what}", load.GROUP)
        for name, what in (
            ("good", "PATH"),
            ("taken", "TAKEN"),
            ("wrong", "NOT_A_PATH"),
            ("absent", "MISSING"),
        )
    ]
    monkeypatch.setattr(load, "entry_points", lambda group: entries if group == load.GROUP else [])
    with pytest.warns(RuntimeWarning) as caught:
        paths = list_models()
    assert paths == (*shipped, tmp_path / "lab.toml")
    skipped = [str(warning.message) for warning in caught]
    assert len(skipped) == 3
    assert "'taken' is skipped: the name 'trn1' is taken" in skipped[0]
    assert "'wrong' is skipped" in skipped[1]
    assert "'absent' is skipped" in skipped[2]
    with pytest.warns(RuntimeWarning, match="is skipped"):
        assert load_hardware("lab-Trainium2").name == "lab-trn2"


def test_a_new_model_names_its_captures(tmp_path, root, monkeypatch):
    """What instance or compiler target a capture names is looked up in the models alone."""
    text = (root / "hw_models" / "trn3.toml").read_text(encoding="utf-8")
    for old, new in (('"trn3', '"lab4'), ('"NeuronCore-v4', '"NeuronCore-v9'), ('"v4', '"v9')):
        text = text.replace(old, new)
    (tmp_path / "lab4.toml").write_text(text, encoding="utf-8")
    shipped = list_models()
    monkeypatch.setattr(load, "list_models", lambda: (*shipped, tmp_path / "lab4.toml"))
    assert model_of_instance("lab4.48xlarge") == "lab4"
    assert model_of_instance("lab4n.3xlarge") == "lab4"
    assert model_of_instance("lab5.48xlarge") is None
    assert models_of_core("NeuronCore-v9") == ("lab4",)
    assert models_of_core("sunda") == ("inf2", "trn1")
    assert models_of_core("") == ()


def test_replace_value_asks_what_if():
    view = load_hardware("trn2", lnc=1)
    faster = view.replace_value("dma.link_bytes_per_s", 38.4e9)
    assert faster.memory_ceiling().value == 16 * 38.4e9
    assert faster.value("dma.link_bytes_per_s").quality == "inferred"
    assert "what if" in faster.value("dma.link_bytes_per_s").source
    assert view.memory_ceiling().value == pytest.approx(435.2e9)
    rule = view.element_mode("vector", "tensor_copy", "bf16", operands="sbuf", contiguous=True)
    wider = view.replace_value(rule.path, 8)
    assert wider.element_rate("vector", 8).value == 8 * view.element_rate("vector").value
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(HardwareModelError, match="expected a positive number"):
            view.replace_value("dma.link_bytes_per_s", wrong)
    with pytest.raises(HardwareModelError, match=r"no value 'dma\.link'"):
        view.replace_value("dma.link", 1.0)


def test_numbers_are_listed_and_found():
    view = load_hardware("trn2")
    assert view.paths("dma.packet") == (
        "dma.packet.fixed_s",
        "dma.packet.interval_s",
        "dma.packet.static_bytes",
    )
    assert "dma.packet.fixed_s" in view.paths()
    assert not view.paths("dma.pack")
    sizes = view.series("dma.efficiency_curve.partition_bytes")
    ratios = view.series("dma.efficiency_curve.relative_ratio")
    assert len(sizes) == len(ratios) == 11
    assert list(sizes) == sorted(sizes)
    assert ratios[-1] == 1.0
    # the documented fit of the curve: half its points lie within a few percent
    saturation = view.value("dma.efficiency_model.saturation_bytes").value
    for size, ratio in zip(sizes, ratios, strict=True):
        assert min(1.0, size / saturation) == pytest.approx(ratio, rel=0.05, abs=0.002)


def test_shared_paths_are_there_for_every_chip():
    """What a time model needs of any chip: measured, or inferred and marked so."""
    needed = [
        "instructions.any.interval_floor_cycles",
        "instructions.tensor.matmul.latency_cycles",
        "instructions.tensor.matmul.interval_cycles",
        "instructions.tensor.matmul_fp32.passes_count",
        "instructions.tensor.weight_load.pair_floor_cycles",
        "instructions.vector.any.latency_cycles",
        "instructions.vector.any.interval_cycles",
        "instructions.scalar.any.latency_cycles",
        "instructions.scalar.any.interval_cycles",
        "instructions.scalar.activation.interval_cycles",
        "instructions.gpsimd.any.start_cycles",
        "overheads.hop.any.latency_s",
        "overheads.hop.into_tensor.latency_s",
        "overheads.table_load.duration_s",
        "overheads.start.to_body_s",
        "overheads.tear_down.duration_s",
        "overheads.first_execution.extra_s",
        "dma.packet.fixed_s",
        "dma.packet.interval_s",
        "dma.element.to_sbuf.floor_s",
        "dma.fixed.static.total_s",
        "dma.fixed.software.total_s",
        "dma.completion.packet_to_consumer_s",
        "dma.efficiency_model.saturation_bytes",
        "dma.accumulate.rate_ratio",
        *(
            f"overheads.launch.{clock}.floor_s"
            for clock in (
                "device_execution",
                "device_total",
                "framework_window",
                "host_wall",
                "nki_benchmark",
            )
        ),
    ]
    for name in ("trn1", "inf2", "trn2", "trn3"):
        view = load_hardware(name)
        for path in needed:
            assert view.value(path).value > 0, (name, path)
    # nothing of Trainium3 was measured
    assert {number.quality for number in load_hardware("trn3").values.values()} == {
        "documented",
        "derived",
        "calibrated",
        "inferred",
    }


def test_launch_floors_are_ranges_that_grow_with_what_a_clock_contains():
    view = load_hardware("trn2")
    device = view.value("overheads.launch.device_execution.floor_s")
    window = view.value("overheads.launch.framework_window.floor_s")
    assert (device.low, device.high) == (9e-6, 22e-6)
    assert device.high is not None
    assert window.low is not None
    assert device.high < window.low
    assert window.value == 316e-6


def test_sources_are_written_out(root: Path):
    for name in ("trn1", "inf2", "trn2", "trn3"):
        view = load_hardware(name)
        cited = tomllib.loads((root / "hw_models" / f"{name}.toml").read_text())["sources"]
        for path, number in view.values.items():
            assert "@" not in number.source, path
            assert number.source.strip(), path
        texts = " ".join(number.source for number in view.values.values())
        for key, source in cited.items():
            assert source in texts, f"{name}: source {key} is never cited"
