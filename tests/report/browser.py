"""A headless Chromium for the tests of the page."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Yield a driver with an empty profile; skip where there is no browser to drive."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no Chromium: install the packages chromium and chromium-driver")
    pytest.importorskip("selenium", reason="no selenium: install the dev extra")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield found
    finally:
        found.quit()


def open_page(driver: Any, path: Path, *, dark: bool = False) -> None:
    """Open a page from disk and wait until its plots are drawn."""
    value = "dark" if dark else "light"
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": value}]},
    )
    driver.get(path.resolve().as_uri())
    driver.execute_script("try { localStorage.clear() } catch (error) { void error }")
    wait(driver, "return document.documentElement.dataset.ready === 'true'")


def wait(driver: Any, script: str, seconds: float = 60.0) -> Any:
    """Return the first true result of a script."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = driver.execute_script(script)
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"never true: {script}")


def problems(driver: Any) -> list[str]:
    """Return errors and warnings of the console since the last call."""
    return [
        entry["message"]
        for entry in driver.get_log("browser")
        if entry["level"] in ("SEVERE", "WARNING")
    ]


def requests(driver: Any) -> list[str]:
    """Return what was asked for over any scheme but file and data."""
    found = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "chrome")):
                found.append(url)
    return found


def column(driver: Any, key: str, source: str, name: str) -> list[Any]:
    """Return a column of a data source of a plot; what is no number is ``None``."""
    return list(
        driver.execute_script(
            "const plot = Bokeh.documents[0].get_model_by_name(arguments[0]);"
            "return [...rooflinePage.sourceOf(plot, arguments[1]).data[arguments[2]]]"
            ".map((v) => Number.isNaN(v) ? null : v)",
            key, source, name,
        )
    )  # fmt: skip


def point_at(driver: Any, key: str, number: int) -> tuple[int, int]:
    """Return where a point of a plane is in the window, scrolled into view."""
    driver.execute_script(
        f"document.querySelector('#plot-{key}').scrollIntoView({{block: 'center'}})"
    )
    x, y = driver.execute_script(
        """
        const [key, number] = arguments
        const plot = Bokeh.documents[0].get_model_by_name(key)
        const data = rooflinePage.sourceOf(plot, 'points').data
        const box = document.querySelector('#plot-' + key).getBoundingClientRect()
        const frame = Bokeh.index.find_one_by_id(plot.id).frame.bbox
        const share = (v, r) => Math.log(v / r.start) / Math.log(r.end / r.start)
        return [box.left + frame.left + share(data.x[number], plot.x_range) * frame.width,
                box.top + frame.bottom - share(data.y[number], plot.y_range) * frame.height]
        """,
        key,
        number,
    )
    return round(x), round(y)
