from __future__ import annotations

from pathlib import Path

import pytest

from roofline.errors import StudyError
from roofline.study.lines import line_of
from roofline.study.load import find_study, is_study, list_studies, load_study

GOOD = """\
schema_version = 1
name = "tiny"
title = "A tiny study"
op = "rmsnorm"
hardware = ["trn2"]

[[config]]
params = { rows = 4, cols = 512 }
dtype = "bf16"

[sources.me]
title = "measured here"

[[variant]]
name = "one"

[[variant.time]]
time = "33 us"
clock = "device_execution"
source = "me"
"""


def write(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return folder


def test_shipped_studies_load_by_name_and_by_path(root: Path) -> None:
    assert {"rmsnorm-4x512-bf16", "rmsnorm-512x3072-bf16", "rmsnorm-2048xK"} <= set(list_studies())
    for name in list_studies():
        assert is_study(name)
        assert load_study(name) == load_study(root / "captures" / name)
        assert find_study(f"captures/{name}").resolve() == root / "captures" / name / "study.toml"


def test_the_article_is_told_exactly() -> None:
    study = load_study("rmsnorm-4x512-bf16")
    times = {one.variant: one for one in study.measurements}
    assert {name: one.time_s for name, one in times.items()} == {
        "naive": pytest.approx(2354.9e-6),
        "fused": pytest.approx(403.3e-6),
        "compiled": pytest.approx(375.5e-6),
    }
    assert {name: one.cpu_s for name, one in times.items()} == {
        "naive": pytest.approx(125e-6),
        "fused": pytest.approx(47.6e-6),
        "compiled": pytest.approx(98.4e-6),
    }
    naive = times["naive"]
    assert sum(op.count for op in naive.ops) == 6
    assert sum(op.time_s for op in naive.ops) == pytest.approx(naive.time_s)
    assert all(one.n == 1 and one.clock_quality == "inferred" for one in times.values())


def test_the_measured_curve_is_the_published_table(shared: Path) -> None:
    lines = (shared / "measured" / "tilebench_trn2.csv").read_text(encoding="utf-8").splitlines()
    names = {"torch_eager": "eager", "nki": "nki"}
    published = {}
    for line in lines:
        if line.startswith("rmsnorm,"):
            *_, dtype, implementation, time_us, _, _, _ = line.split(",")
            cols = int(line.split("K=")[1].split(",")[0])
            published[names[implementation], dtype, cols] = float(time_us)
    assert len(published) == 60
    held = {
        (one.variant, one.config.dtype, one.config.shape["cols"]): one.time_s * 1e6
        for one in load_study("rmsnorm-2048xK").measurements
    }
    assert held == pytest.approx(published)


def test_a_small_study_loads(tmp_path: Path) -> None:
    study = load_study(write(tmp_path / "tiny", GOOD))
    assert study.measurements[0].time_s == pytest.approx(33e-6)
    assert study.configs[0].key == "4x512 bf16"
    assert study.path == tmp_path / "tiny"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('time = "33 us"', 'time = "-33 us"', 18, "more than 0"),
        ('time = "33 us"', 'time = "0 us"', 18, "more than 0"),
        ('time = "33 us"', 'time = "nan us"', 18, "not a number"),
        ('time = "33 us"', 'time = "33"', 18, "no unit"),
        ('time = "33 us"', "time = 33", 18, "Expected `str`"),
        ('clock = "device_execution"', 'clock = "sundial"', 19, "unknown clock"),
        ('source = "me"', 'source = "you"', 20, "not among the sources; known: me"),
        ('source = "me"', 'source = "me"\ncolour = "red"', 21, "unknown field `colour`"),
        ('source = "me"', 'source = "me"\nn = 0', 21, "a count is 1 or more"),
        ('source = "me"', 'source = "me"\ncounters = { x = nan }', 21, "a count is 0 or more"),
        (
            'source = "me"',
            'source = "me"\ncounters = { hbm_read_bytes = 0, hbm_write_bytes = 0 }',
            21,
            "zero bytes",
        ),
        ('dtype = "bf16"', 'dtype = "bf61"', 9, "bf61"),
        ("rows = 4", "rows = 0", 8, "a parameter is 1 or more"),
        ("schema_version = 1", "schema_version = 7", 1, "not known; known: 1"),
        ('hardware = ["trn2"]', "hardware = []", 5, "no hardware"),
        ('name = "one"', 'title = "no name"', 14, "missing required field `name`"),
        (
            'source = "me"',
            'source = "me"\n\n[[variant]]\nname = "one"',
            23,
            "given twice",
        ),
        (
            'source = "me"',
            'source = "me"\n\n[[variant.capture]]\npath = "no.ntff"\nsource = "me"',
            23,
            "no such capture",
        ),
        (
            'source = "me"',
            'source = "me"\n\n[[table]]\npath = "no.csv"\nclock = "host_wall"\nsource = "me"',
            23,
            "no.csv",
        ),
    ],
)
def test_a_fault_names_its_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in GOOD
    folder = write(tmp_path / "bad", GOOD.replace(old, new))
    with pytest.raises(StudyError) as error:
        load_study(folder)
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith(f"{folder / 'study.toml'}:{line}: "), text
    assert message in text


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("one,bf16,4,512,-1", "more than 0"),
        ("one,bf16,4,512,nan", "more than 0"),
        ("one,bf61,4,512,1", "bf61"),
        ("two,bf16,4,512,1", "unknown variant"),
        ("one,bf16,0,512,1", "1 or more"),
        ("one,bf16,x,512,1", "invalid literal"),
    ],
)
def test_a_fault_in_a_table_names_its_line(tmp_path: Path, row: str, message: str) -> None:
    table = '\n[[table]]\npath = "times.csv"\nclock = "device_execution"\nsource = "me"\n'
    folder = write(tmp_path / "bad", GOOD + table)
    (folder / "times.csv").write_text(
        f"variant,dtype,rows,cols,time_us\none,bf16,4,512,1.5\n{row}\n", encoding="utf-8"
    )
    with pytest.raises(StudyError, match=message) as error:
        load_study(folder)
    assert str(error.value).startswith(f"{folder / 'times.csv'}:3: ")


def test_no_study_lists_the_shipped_ones(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"shipped studies: .*rmsnorm-4x512-bf16"):
        load_study(tmp_path)
    with pytest.raises(StudyError, match="no such study"):
        load_study("nowhere/at-all")
    assert not is_study(tmp_path)


def test_broken_toml_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="not a TOML file") as error:
        load_study(write(tmp_path / "bad", "name = = 1"))
    assert "\n" not in str(error.value)


def test_lines_of_keys_and_of_nearest_parents() -> None:
    text = "a = 1\n[b]\nc = 2\n[[d]]\ne = 3\n[[d]]\ne = 4\n[[d.f]]\ng = 5\n[[d.f]]\ng = 6\n"
    assert line_of(text, "$.a") == 1
    assert line_of(text, "$.b.c") == 3
    assert line_of(text, "$.d[1].e") == 7
    assert line_of(text, "$.d[1].f[1].g") == 11
    assert line_of(text, "$.d[1].f[1].missing") == 10
    assert line_of(text, "$.nothing") == 1
