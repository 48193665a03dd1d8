from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roofline.cli.main import main
from roofline.model.sweep import sweep
from roofline.report.compare_run import compare
from roofline.study import observe_sweep


def stored(path: Path, factor: float = 1.0, *, rows: object = "1:64:x2",
           variant: tuple[str, ...] = ("fused", "eager")) -> str:  # fmt: skip
    data = sweep("rmsnorm", hardware=["trn2"], dtype=["bf16"], variant=list(variant),
                 rows=rows, cols=[512, 1024])  # fmt: skip
    times = data["estimate"].values.copy()
    times[0, 0, 0] *= factor
    data["estimate"] = (data["estimate"].dims, times, data["estimate"].attrs)
    data.to_netcdf(path, engine="h5netcdf")
    return str(path)


def test_points_are_compared_by_hardware_dtype_variant_and_sizes(tmp_path: Path) -> None:
    old = stored(tmp_path / "old.nc")
    new = stored(tmp_path / "new.nc", 2.0, rows="2:128:x2")
    (versus,) = compare([old, new]).comparison.versus
    counts = {outcome: len(versus.of(outcome)) for outcome in ("slower", "same", "gone", "new")}
    assert counts == {"slower": 12, "same": 12, "gone": 4, "new": 4}
    slower = versus.of("slower")
    assert {pair.clock for pair in slower} == {"modelled device execution"}
    assert all(pair.ratio == pytest.approx(0.5) for pair in slower)
    assert slower[0].key.startswith("rmsnorm fused, trn2 bf16 rows=")


def test_a_modelled_time_is_not_compared_with_a_measured_one(tmp_path: Path) -> None:
    path = stored(tmp_path / "s.nc", rows=[4], variant=("fused",))
    pairs = compare([path, "rmsnorm-4x512-bf16::fused"]).comparison.pairs
    assert {pair.outcome for pair in pairs} <= {"refused", "gone", "new"}


def test_of_a_large_sweep_all_changes_are_counted_and_the_largest_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe_sweep, "MOST_POINTS", 5)
    old = stored(tmp_path / "old.nc")
    new = stored(tmp_path / "new.nc", 2.0, rows="2:128:x2")
    comparison = compare([old, new]).comparison
    (versus,) = comparison.versus
    assert [pair.outcome for pair in versus.pairs] == ["slower"] * 5
    (note,) = versus.run.notes
    for said in ("of 24 points", "12 slower", "12 the same", "0 faster", "4 gone, 4 new",
                 "5 largest changes"):  # fmt: skip
        assert said in note


def test_ten_thousand_points_are_summed_up_with_few_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*range(1, 2501)]
    old = stored(tmp_path / "old.nc", rows=rows)
    new = stored(tmp_path / "new.nc", 0.5, rows=rows)
    with pytest.raises(SystemExit) as stop:
        main(["compare", old, new, "-o", str(tmp_path / "c.csv")])
    assert stop.value.code in (0, None)
    out = capsys.readouterr().out
    assert "of 10000 kernels 5000 faster, 5000 the same" in " ".join(out.split())
    assert len(out.splitlines()) < 250
    lines = (tmp_path / "c.csv").read_text("utf-8").splitlines()
    assert sum(",time," in line for line in lines) == 10_000


def test_variants_of_one_sweep_are_compared_with_its_first(tmp_path: Path) -> None:
    comparison = compare([stored(tmp_path / "s.nc")]).comparison
    assert comparison.base.label == "rmsnorm fused"
    (versus,) = comparison.versus
    assert len(versus.pairs) == 14
    ratios = np.array([pair.ratio for pair in versus.pairs])
    assert (ratios < 1).all()  # more launches take longer
