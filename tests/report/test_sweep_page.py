from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofline.model.sweep import sweep
from roofline.plots.page.theme import PALETTES
from roofline.report.sweep_report import save_sweep
from tests.report.browser import open_page, problems, requests, wait

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = sweep("rmsnorm", hardware=["trn2", "trn1"], dtype=["bf16", "fp32"],
                 variant=["fused", "eager"], rows="128:8192:x2", cols="512:8192:x2",
                 conditions=["rows != 256"])  # fmt: skip
    folder = tmp_path_factory.mktemp("sweep") / "report"
    save_sweep(data, folder)
    return folder / "index.html"


def column(driver: Any, plot: str, source: str, name: str) -> list[Any]:
    return list(
        driver.execute_script(
            "const plot = Bokeh.documents[0].get_model_by_name(arguments[0]);"
            "return [...rooflinePage.sourceOf(plot, arguments[1]).data[arguments[2]]]",
            plot, source, name,
        )
    )  # fmt: skip


def test_it_opens_from_disk_without_errors_or_requests(driver: Any, page: Path) -> None:
    open_page(driver, page)
    assert problems(driver) == []
    assert requests(driver) == []
    keys = driver.execute_script(
        "return [...document.querySelectorAll('[data-panel]')].map((e) => e.dataset.panel)"
    )
    assert keys == ["roofline-trn2", "roofline-trn1", "heat", "bounds", "curves"]
    drawn = "return [...document.querySelectorAll('.plot')].every((e) => e.clientHeight > 100)"
    assert driver.execute_script(drawn)
    assert page.stat().st_size < 2_000_000


def test_maps_are_coloured_by_value_and_by_bound_in_both_modes(driver: Any, page: Path) -> None:
    open_page(driver, page)
    light = PALETTES["light"]
    tones = column(driver, "bounds-0", "cells", "tone")
    colours = column(driver, "bounds-0", "cells", "colour")
    assert set(tones) == {"overhead:device-start", "vector:throughput", "none"}
    expected = {**light, "vector:throughput": light["vector"]}
    for tone, colour in zip(tones, colours, strict=True):
        assert colour == expected[tone]
    values = column(driver, "heat-0", "cells", "value")
    shades = column(driver, "heat-0", "cells", "colour")
    known = [(v, int(c[5:], 16) - int(c[1:3], 16)) for v, c in zip(values, shades, strict=True)]
    # the scale goes from blue to yellow: the higher the share, the less blue over red
    ends = sorted(pair for pair in known if pair[0] > 0)
    assert ends[0][1] > ends[-1][1]
    key = driver.execute_script("return document.querySelector('#figure-bounds .tools').innerText")
    for word in ("vector:throughput", "hbm:bandwidth", "dma:bandwidth", "not modelled"):
        assert word in key
    bar = driver.execute_script("return document.querySelector('#figure-heat .tools').innerText")
    assert "100 %" in bar
    assert "percent of roof" in bar
    driver.find_element("id", "theme").click()
    assert column(driver, "bounds-0", "cells", "colour") != colours
    assert problems(driver) == []


def test_the_pointer_tells_every_number_of_a_cell(driver: Any, page: Path) -> None:
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    open_page(driver, page)
    driver.execute_script(
        "document.querySelector('#plot-heat-1').scrollIntoView({block: 'center'})"
    )
    x, y = driver.execute_script(
        """
        const plot = Bokeh.documents[0].get_model_by_name('heat-1')
        const box = document.querySelector('#plot-heat-1').getBoundingClientRect()
        const frame = Bokeh.index.find_one_by_id(plot.id).frame.bbox
        return [box.left + frame.right - 5, box.top + frame.top + 5]
        """
    )
    builder = ActionBuilder(driver)
    builder.pointer_action.move_to_location(round(x) - 3, round(y))
    builder.pointer_action.move_to_location(round(x), round(y))
    builder.perform()
    wait(driver, "return !document.getElementById('tip').hidden", 20)
    text = driver.execute_script("return document.getElementById('tip').innerText")
    assert "trn2 bf16 eager: rows 8,192, cols 8,192" in text
    for word in ("calibrated", "interval", "lower bound", "theoretical roofs", "FLOP/B; counted",
                 "hbm:bandwidth"):  # fmt: skip
        assert word in text


def test_one_map_is_chosen_from_the_keyboard(driver: Any, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    open_page(driver, page)
    choose = driver.find_element("css selector", "#figure-heat select")
    choose.send_keys("trn1 fp32 eager")
    shown = (
        "return [...document.querySelectorAll('#figure-heat .block')]"
        ".map((e, at) => e.offsetHeight ? at : -1).filter((at) => at >= 0)"
    )
    assert driver.execute_script(shown) == [7]
    choose.send_keys(Keys.HOME)
    assert driver.execute_script(shown) == list(range(8))
    assert driver.execute_script(
        "return document.querySelector('#figure-heat select').labels.length"
    )
    assert problems(driver) == []


def test_the_table_of_a_map_has_every_point(driver: Any, page: Path) -> None:
    open_page(driver, page)
    driver.execute_script("document.querySelector('#figure-bounds details.data').open = true")
    wait(driver, "return document.querySelector('#figure-bounds .holder table')")
    count = driver.find_element("css selector", "#figure-bounds .holder .count").text
    assert "280 rows" in count


def test_a_series_is_isolated_with_the_numbers_of_the_point(driver: Any, page: Path) -> None:
    open_page(driver, page)
    buttons = driver.find_elements("css selector", "#figure-roofline-trn1 .series button")
    assert [button.text for button in buttons] == [
        "bf16 fused", "bf16 eager", "fp32 fused", "fp32 eager",
    ]  # fmt: skip
    buttons[1].click()
    alphas = column(driver, "roofline-trn1", "points", "alpha")
    groups = column(driver, "roofline-trn1", "points", "group")
    assert {g for g, alpha in zip(groups, alphas, strict=True) if alpha == 1} == {"bf16 eager"}
    detail = driver.find_element("css selector", "#figure-roofline-trn1 .detail").text
    assert "trn1 bf16 eager: rows " in detail
    assert "inferred" in detail


def test_the_page_fits_a_narrow_screen(driver: Any, page: Path) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        open_page(driver, page)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_ten_thousand_points_stay_small_and_open(driver: Any, tmp_path: Path) -> None:
    data = sweep("rmsnorm", hardware=["trn2", "trn1"], rows="64:4480:+64", cols="64:4544:+64")
    assert data["estimate"].size == 2 * 70 * 71  # all are shown: fewer than the most
    save_sweep(data, tmp_path / "report")
    path = tmp_path / "report" / "index.html"
    assert path.stat().st_size < 6_000_000
    open_page(driver, path)
    assert len(column(driver, "heat-0", "cells", "left")) == 70 * 71
    assert problems(driver) == []
