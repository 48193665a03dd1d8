from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofline.plots.figure import Axis, Figure, Lane, Line, Point
from roofline.report.blocks import FigureBlock, Heading, Table
from roofline.report.html import script_json, to_html
from roofline.report.panels import panel_of
from roofline.report.run import study_result
from roofline.report.study_report import study_page
from tests.report.browser import (
    column,
    open_page,
    point_at,
    problems,
    requests,
    wait,
)

EVIL = '</script><img src=x onerror="window.hacked=1"><!--<script>\' & \u2028'

pytestmark = pytest.mark.browser


def plane(name: str = EVIL, points: int = 3) -> Figure:
    return Figure(
        key="roofline",
        title=name,
        subtitle=name,
        x=Axis(label="intensity", unit="FLOP/B", low=0.01, high=1e3),
        y=Axis(label="rate", unit="FLOP/s", low=1e9, high=1e15),
        lines=(
            Line(key="m", label="memory", role="memory", x=(0.01, 100.0), y=(1e10, 1e14),
                 kind="theoretical", resource="hbm", source=name, binding=True),
            Line(key="c", label="Tensor bf16  100 TFLOP/s", role="compute", x=(100.0, 1e3),
                 y=(1e14, 1e14), kind="theoretical", resource="tensor", dtype="bf16"),
        ),
        points=tuple(
            Point(key=f"{name} {at}", label=f"{name} {at}", x=1.0 + at, y=1e11 * (1 + at % 7),
                  shape=at, tone="vector", group=f"{name} {at}", basis="minimal",
                  time_s=1e-6 * (1 + at), detail=(("time", name), ("bytes", f"{at} B; counted")))
            for at in range(points)
        ),
        notes=(name,),
    )  # fmt: skip


def lanes() -> Figure:
    busy = tuple(1000 if at % 4 < 2 else 0 for at in range(2048))
    return Figure(
        key="timeline", title="Engines over time", subtitle="test",
        x=Axis(label="time", unit="s", low=0.0, high=1e-4, scale="linear"),
        lanes=(Lane(key="t", row=0, label="Tensor", tone="tensor", end=1e-4, working=busy,
                    active=busy),),
        groups=((0, EVIL, "note"),),
    )  # fmt: skip


def page_of(*figures: Figure, rows: int = 3) -> str:
    table = Table(
        columns=(EVIL, "time"),
        rows=tuple((f"{EVIL} {at}", f"{at + 1} {'µs' if at % 2 else 'ms'}") for at in range(rows)),
        numeric=frozenset({1}),
    )
    blocks = [Heading(text=EVIL, level=1), Heading(text="Figures")]
    blocks += [FigureBlock(stem=figure.key, alt=EVIL) for figure in figures]  # type: ignore[misc]
    return to_html(EVIL, [*blocks, Heading(text="Table"), table],
                   panels=[panel_of(figure) for figure in figures])  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "index.html"
    path.write_text(study_page(study_result("rmsnorm-4x512-bf16")), encoding="utf-8")
    return path


def test_a_study_opens_from_disk_without_errors_or_requests(driver: Any, study: Path) -> None:
    open_page(driver, study)
    assert problems(driver) == []
    assert requests(driver) == []
    drawn = "return [...document.querySelectorAll('.plot')].every((e) => e.clientHeight > 100)"
    assert driver.execute_script(drawn)
    assert driver.execute_script("return Bokeh.documents[0].roots().length") == 5
    assert study.stat().st_size < 2_000_000


def test_toggles_hide_and_show_roofs(driver: Any, study: Path) -> None:
    open_page(driver, study)
    panel = driver.find_element("css selector", "#figure-roofline")
    before = column(driver, "roofline", "roofs", "x0")
    panel.find_element("css selector", "input[name=memory][value=dma]").click()
    after = column(driver, "roofline", "roofs", "x0")
    memory = column(driver, "roofline", "roofs", "memory")
    assert all(x is None for x, of in zip(after, memory, strict=True) if of == "dma")
    kept = [(a, b) for a, b, of in zip(before, after, memory, strict=True) if of != "dma"]
    assert all(a == b for a, b in kept)
    panel.find_element("css selector", "input[name=kind][value=vendor]").click()
    kinds = column(driver, "roofline", "roofs", "kind")
    shown = column(driver, "roofline", "roofs", "x0")
    assert any(x is not None for x, kind in zip(shown, kinds, strict=True) if kind == "vendor")


def test_bytes_switch_moves_points_to_one_way_of_counting(driver: Any, study: Path) -> None:
    open_page(driver, study)
    panel = driver.find_element("css selector", "#figure-roofline")
    panel.find_element("css selector", "input[type=radio][value=dispatched]").click()
    basis = column(driver, "roofline", "points", "basis")
    shown = column(driver, "roofline", "points", "x")
    assert {b for b, x in zip(basis, shown, strict=True) if x is not None} == {"dispatched"}


def test_isolation_by_keyboard_fades_the_others_and_tells_every_number(
    driver: Any, study: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    open_page(driver, study)
    button = driver.find_element("css selector", "#figure-roofline .series button")
    button.send_keys(Keys.ENTER)
    assert button.get_attribute("aria-pressed") == "true"
    alphas = column(driver, "roofline", "points", "alpha")
    groups = column(driver, "roofline", "points", "group")
    first = groups[0]
    assert all((alpha == 1) == (g == first) for alpha, g in zip(alphas, groups, strict=True))
    detail = driver.find_element("css selector", "#figure-roofline .detail").text
    for word in ("time", "measured", "minimal bytes", "counted", "lower bound", "derived"):
        assert word in detail
    button.send_keys(Keys.ENTER)
    assert set(column(driver, "roofline", "points", "alpha")) == {1}


def test_hover_and_click_on_a_point(driver: Any, study: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    open_page(driver, study)
    x, y = point_at(driver, "roofline", 0)
    ActionBuilder(driver).pointer_action.move_to_location(x - 40, y - 40)
    builder = ActionBuilder(driver)
    builder.pointer_action.move_to_location(x - 3, y)
    builder.pointer_action.move_to_location(x, y)
    builder.perform()
    wait(driver, "return !document.getElementById('tip').hidden", 20)
    text = driver.execute_script("return document.getElementById('tip').textContent")
    assert "naive" in text
    assert "derived" in text
    ActionChains(driver).click().perform()
    wait(driver, "return rooflinePage.panels.roofline.isolated !== null", 20)
    assert problems(driver) == []


def test_dark_and_light(driver: Any, study: Path) -> None:
    open_page(driver, study, dark=True)
    paper = "return getComputedStyle(document.body).backgroundColor"
    dark = driver.execute_script(paper)
    first = column(driver, "roofline", "points", "edge")
    driver.find_element("id", "theme").click()
    assert driver.execute_script(paper) == "rgb(255, 255, 255)" != dark
    assert column(driver, "roofline", "points", "edge") != first
    assert problems(driver) == []


def test_everything_has_a_name_for_a_screen_reader(driver: Any, study: Path) -> None:
    open_page(driver, study)
    driver.execute_script("document.querySelectorAll('details.data').forEach((d) => d.open = true)")
    wait(driver, "return document.querySelectorAll('details.data table').length >= 3")
    unnamed = driver.execute_script(
        """
        const named = (e) => (e.ariaLabel || e.textContent || e.title || e.alt || '').trim() ||
          (e.labels && e.labels.length && e.labels[0].textContent.trim())
        const wanted = 'main button, main input, header button, [role=img], img'
        return [...document.querySelectorAll(wanted)]
          .filter((e) => !e.hidden && !named(e)).map((e) => e.outerHTML.slice(0, 100))
        """
    )
    assert unnamed == []
    assert driver.execute_script(
        "return ['header', 'nav', 'main', 'footer', 'h1'].every((t) => document.querySelector(t))"
    )
    assert driver.execute_script("return document.documentElement.lang") == "en"


def test_the_page_fits_a_narrow_screen(driver: Any, study: Path) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        open_page(driver, study)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_names_of_kernels_are_inert(driver: Any, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text(page_of(plane(), lanes()), encoding="utf-8")
    open_page(driver, path)
    driver.execute_script("document.querySelectorAll('details.data').forEach((d) => d.open = true)")
    driver.find_element("css selector", "#figure-roofline .series button").click()
    assert driver.execute_script("return window.hacked === undefined")
    assert driver.execute_script("return document.querySelectorAll('img').length") == 0
    heading = driver.execute_script("return document.querySelector('h1').textContent")
    assert heading == EVIL
    assert problems(driver) == []


def test_zoom_bins_the_timeline_anew(driver: Any, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text(page_of(lanes()), encoding="utf-8")
    open_page(driver, path)

    def busy() -> float:
        left, right, top, bottom = (
            column(driver, "timeline-0", "bins", name)
            for name in ("left", "right", "top", "bottom")
        )
        return sum(
            (b - a) * (d - c) / 0.86 for a, b, c, d in zip(left, right, top, bottom, strict=True)
        )

    whole, width = busy(), len(column(driver, "timeline-0", "bins", "left"))
    assert whole == pytest.approx(0.5e-4, rel=1e-9)  # half of the bins are full
    assert width <= 320
    buttons = driver.find_elements("css selector", "#figure-timeline .controls button")
    for _ in range(4):
        next(one for one in buttons if one.text == "Zoom in").click()
    wait(driver, "return rooflinePage.panels.timeline.said.textContent.includes('ns')")
    driver.execute_script("rooflinePage.panels.timeline.draw()")
    heights = [
        round(d - c, 6)
        for c, d in zip(
            column(driver, "timeline-0", "bins", "top"),
            column(driver, "timeline-0", "bins", "bottom"),
            strict=True,
        )
    ]
    assert set(heights) == {0.86}  # single bins: full, and the empty ones are not drawn


def test_tables_sort_by_unit_search_and_show_more(driver: Any, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text(page_of(rows=1500), encoding="utf-8")
    open_page(driver, path)
    rows = (
        "return [...document.querySelectorAll('[data-table] tbody tr')]"
        ".map((row) => row.cells[1].textContent)"
    )
    assert len(driver.execute_script(rows)) == 100
    driver.find_elements("css selector", "[data-table] th button")[1].click()
    assert driver.execute_script(rows)[:2] == ["2 µs", "4 µs"]
    driver.find_elements("css selector", "[data-table] th button")[1].click()
    assert driver.execute_script(rows)[0] == "1499 ms"
    driver.find_element("css selector", "[data-table] input").send_keys("1234")
    assert driver.execute_script(rows) == ["1235 ms", "1234 µs"]


def test_ten_thousand_points_stay_small_and_open(driver: Any, tmp_path: Path) -> None:
    text = page_of(plane("kernel", points=10_000))
    assert len(text.encode()) < 6_000_000
    path = tmp_path / "index.html"
    path.write_text(text, encoding="utf-8")
    open_page(driver, path)
    assert len(column(driver, "roofline", "points", "x")) == 10_000
    assert problems(driver) == []


def test_panels_stand_where_their_blocks_are(driver: Any, tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    first, second = plane("first"), lanes()
    blocks = [FigureBlock(stem=one.key, alt="") for one in (second, first)]
    text = to_html("t", blocks, panels=[panel_of(first), panel_of(second)])
    path.write_text(text, encoding="utf-8")
    open_page(driver, path)
    held = driver.execute_script(
        "return [...document.querySelectorAll('.plot')].map((e) =>"
        " [e.dataset.plot, Bokeh.index.find_one_by_id("
        "Bokeh.documents[0].get_model_by_name(e.dataset.plot).id).el.getRootNode().host"
        "?.parentElement === e || e.contains(Bokeh.index.find_one_by_id("
        "Bokeh.documents[0].get_model_by_name(e.dataset.plot).id).el)])"
    )
    assert held == [["timeline-0", True], ["roofline", True]]


def test_json_in_a_script_cannot_end_it() -> None:
    import json

    text = script_json({EVIL: [EVIL]})
    assert "<" not in text
    assert ">" not in text
    assert json.loads(text) == {EVIL: [EVIL]}


def test_the_same_figure_gives_the_same_page() -> None:
    assert page_of(plane()) == page_of(plane())
