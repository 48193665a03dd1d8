from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofline.analysis.gate import parse_gate
from roofline.analysis.observed import Observed, Part, Timing, Use
from roofline.captures.capture import Issue
from roofline.plots.draw import draw
from roofline.plots.figure import Figure
from roofline.plots.table import figure_csv, figure_from_csv
from roofline.report.compare_page import compare_figures
from roofline.report.compare_run import Compared, compare, compare_observed, write_compared
from tests.analysis.runs import run
from tests.report.browser import column, open_page, point_at, problems, requests, wait

STUDY = "rmsnorm-4x512-bf16"


def kernel(name: str, window_us: float, dma_us: float, **more: Any) -> Observed:
    """A kernel of 10 us of Tensor work that DMA half hides."""
    second = 1e-6
    return Observed(
        kernel=name,
        timings=(Timing(seconds=window_us * second, clock="device_body", spread=0.01),),
        uses=(
            Use(
                clock="device_body",
                window_s=window_us * second,
                active_s={"tensor": 10 * second, "dma": dma_us * second},
                any_s=(10 + dma_us / 2) * second,
                exposed_dma_s=dma_us / 2 * second,
            ),
        ),
        tensor_flops=1e9,
        bytes={"measured": 1e6 * dma_us},
        hardware="trn2",
        verdict="dma:bandwidth",
        parts=(
            Part(name="lower_bound", seconds=5 * second, what="of what was executed"),
            Part(name="serialization", seconds=(window_us - 5) * second, what="waiting"),
            Part(name="tail", seconds=2 * second, what="behind the body"),
        ),
        **more,
    )


def compared(fail_on: str | None = None) -> Compared:
    base = run(
        "before",
        kernel("attention", 40, 20, findings={"spills": "1 MB spill", "waits": "it waits 9 us"}),
        kernel("old", 30, 10),
    )
    new = run(
        "after",
        kernel("attention", 20, 4, findings={"waits": "it waits 3 us", "small": "small packets"}),
        kernel("fresh", 30, 10),
    )
    issue = Issue(id="lost", severity="lost", what="records are lost", count=3)
    base = type(base)(**{**{name: getattr(base, name) for name in base.__slots__},
                         "issues": (("before.ntff", issue),)})  # fmt: skip
    return compare_observed([base, new], gate=None if fail_on is None else parse_gate(fail_on))


def figures() -> dict[str, Figure]:
    return {figure.key: figure for figure in compare_figures(compared().comparison)}


def test_every_figure_is_rebuilt_from_its_table_and_drawn_without_collisions() -> None:
    found = figures()
    assert list(found) == ["roofline", "change", "activity", "parts"]
    for figure in found.values():
        assert figure_from_csv(figure_csv(figure)) == figure
        drawing = draw(figure)
        drawing.canvas.canvas.draw()
        renderer = drawing.canvas.canvas.get_renderer()  # type: ignore[attr-defined]
        width, height = drawing.canvas.canvas.get_width_height()
        boxes = [text.get_window_extent(renderer) for text in drawing.labels]
        assert not [1 for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
        assert all(box.x0 >= 0 and box.x1 <= width and box.y1 <= height for box in boxes)


def test_reasons_lead_from_the_base_to_the_new_time() -> None:
    base, *reasons, new = figures()["change"].spans
    assert (base.value, new.value) == pytest.approx((40e-6, 20e-6))
    # 16 us less DMA, of which half was hidden; 30 - 20 and 20 - 12 of waiting
    saved = {span.label: span.text for span in reasons}
    assert saved == {
        "less work": "-16 µs (-40 %)",
        "less hidden by overlap": "+8 µs (+20 %)",
        "less waiting": "-12 µs (-30 %)",
    }
    assert reasons[-1].value == pytest.approx(new.value)
    assert {span.tone for span in reasons} == {"saved", "added"}


def test_activity_has_both_sides_of_each_resource() -> None:
    rows = {span.label: span.value for span in figures()["activity"].spans}
    expected = {
        "Tensor, base": 10e-6, "Tensor, new": 10e-6, "DMA, base": 20e-6, "DMA, new": 4e-6,
        "DMA alone, base": 10e-6, "DMA alone, new": 2e-6,
        "nothing busy, base": 20e-6, "nothing busy, new": 8e-6,
    }  # fmt: skip
    assert rows == pytest.approx(expected)


def test_parts_of_each_side_follow_each_other() -> None:
    figure = figures()["parts"]
    assert [title for _, title, _ in figure.groups] == ["base: attention", "new: attention"]
    assert figure.spans[2].low == pytest.approx(figure.spans[1].high)
    assert figure.spans[2].high == pytest.approx(42e-6)


def test_kernels_without_engines_or_bytes_have_the_figure_of_the_change_alone() -> None:
    one = Observed(kernel="k", timings=(Timing(seconds=1e-3, clock="host_wall"),))
    two = Observed(kernel="k", timings=(Timing(seconds=2e-3, clock="host_wall"),))
    comparison = compare_observed([run("a", one), run("b", two)]).comparison
    (figure,) = compare_figures(comparison)
    assert [span.label for span in figure.spans] == ["base time", "new time"]
    assert any("without reasons" in note for note in figure.notes)


def test_kernels_that_do_not_meet_still_have_a_page(tmp_path: Path) -> None:
    found = compare_observed([run("a", kernel("x", 9, 2), kernel("y", 9, 2)),
                              run("b", kernel("z", 9, 2), kernel("w", 9, 2))])  # fmt: skip
    (path,) = write_compared(found, tmp_path / "page.html")
    text = path.read_text("utf-8")
    assert compare_figures(found.comparison) == ()
    assert "of 4 kernels 2 gone, 2 new" in text
    assert "Gone and new kernels" in text
    assert "<figure" not in text


def test_a_folder_holds_the_page_and_every_figure(tmp_path: Path) -> None:
    names = {path.name for path in write_compared(compared(), tmp_path / "out")}
    stems = ("roofline", "change", "activity", "parts")
    assert names == {
        "compare.md", "compare.json", "compare.csv", "figures.json", "index.html",
        *(f"{stem}.{kind}" for stem in stems for kind in ("svg", "png", "pdf", "csv")),
    }  # fmt: skip
    text = (tmp_path / "out" / "compare.md").read_text("utf-8")
    assert all(f"]({stem}.svg)" in text for stem in stems)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(compared("time > +5%").to_html(), encoding="utf-8")
    return path


@pytest.mark.browser
def test_the_page_says_the_gate_first_and_opens_without_errors(driver: Any, page: Path) -> None:
    open_page(driver, page)
    assert problems(driver) == []
    assert requests(driver) == []
    heads = driver.execute_script(
        "return [...document.querySelectorAll('h2')].map((e) => e.textContent)"
    )
    assert heads == [
        "Gate fails", "What changed", "Why", "On the roofline", "Engines", "Where the time goes",
        "All quantities", "Findings", "Gone and new kernels", "Data quality", "Hardware: trn2",
        "Conventions", "Inputs",
    ]  # fmt: skip
    drawn = "return [...document.querySelectorAll('.plot')].every((e) => e.clientHeight > 60)"
    assert driver.execute_script(drawn)
    text = driver.execute_script("return document.querySelector('main').textContent")
    assert "attention, 2x faster, 40 µs -> 20 µs" in text
    assert "records are lost" in text


@pytest.mark.browser
def test_findings_are_gone_new_or_kept(driver: Any, page: Path) -> None:
    open_page(driver, page)
    rows = driver.execute_script(
        "return [...document.querySelectorAll('#findings tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert rows == [
        ["new", "small", "", "small packets"],
        ["gone", "spills", "1 MB spill", ""],
        ["kept", "waits", "it waits 9 us", "it waits 3 us"],
    ]


@pytest.mark.browser
def test_both_ends_of_an_arrow_tell_their_numbers(driver: Any, page: Path) -> None:
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    open_page(driver, page)
    sides = column(driver, "roofline", "points", "hollow")
    assert sides == [True, False]
    for number, words in ((0, ("base: attention", "40 µs")), (1, ("2x faster", "20 µs"))):
        x, y = point_at(driver, "roofline", number)
        builder = ActionBuilder(driver)
        builder.pointer_action.move_to_location(x - 60, y - 60)
        builder.pointer_action.move_to_location(x - 2, y)
        builder.pointer_action.move_to_location(x, y)
        builder.perform()
        said = (
            "!document.getElementById('tip').hidden && document.getElementById('tip').textContent"
        )
        for word in words:
            wait(driver, f"const t = {said}; return t && t.includes('{word}')", 20)


@pytest.mark.browser
def test_the_arrow_has_a_head_that_follows_the_colours(driver: Any, page: Path) -> None:
    colour = (
        "return [...Bokeh.documents[0].get_model_by_name('roofline').references()]"
        ".find((one) => one.name === 'arrows').data.colour[0]"
    )
    open_page(driver, page)
    light = driver.execute_script(colour)
    open_page(driver, page, dark=True)
    assert driver.execute_script(colour) != light
    assert problems(driver) == []


@pytest.mark.browser
def test_quantities_are_searched_and_sorted(driver: Any, page: Path) -> None:
    open_page(driver, page)
    section = driver.find_element("css selector", "#all-quantities")
    section.find_element("css selector", "input[type=search]").send_keys("dma")
    names = [row.text for row in section.find_elements("css selector", "tbody tr td:first-child")]
    assert names == ["DMA in flight", "exposed DMA"]
    buttons = section.find_elements("css selector", "button")
    assert "Copy as CSV" in [button.text for button in buttons]


@pytest.mark.browser
def test_the_page_fits_a_narrow_screen(driver: Any, page: Path) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        open_page(driver, page)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.browser
def test_a_study_alone_has_a_page(driver: Any, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text(compare([STUDY]).to_html(), encoding="utf-8")
    open_page(driver, path)
    assert problems(driver) == []
    buttons = driver.find_elements("css selector", "#figure-roofline .series button")
    assert [button.text for button in buttons] == [
        f"{name}, 4x512 bf16" for name in ("naive", "fused", "compiled")
    ]
    assert path.stat().st_size < 2_000_000
