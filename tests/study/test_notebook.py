from __future__ import annotations

from dataclasses import replace

from roofline.report.run import study_result


def test_a_result_shows_itself_as_an_escaped_table() -> None:
    result = study_result("rmsnorm-4x512-bf16")
    text = result._repr_html_()
    assert text.count("<tr") == len(result.rows) + 1
    assert "overhead:host" in text
    study = replace(result.study, title="</p><script>alert(1)</script>")
    assert "<script>" not in replace(result, study=study)._repr_html_()


def test_a_long_result_stays_small_and_shows_its_share_of_the_bound() -> None:
    result = study_result("rmsnorm-2048xK")
    text = result._repr_html_()
    assert len(text) < 50_000
    assert f"and {len(result.rows) - 50} more" in text
    share = result.rows[0].placement.bound_fraction
    assert share is not None
    assert f"width:{share * 100:.1f}%" in text
