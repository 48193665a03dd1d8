from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HOOKS = ROOT / "docs" / "hooks.py"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("mkdocstrings") is None,
    reason="needs mkdocs and mkdocstrings: pip install .[docs]",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert not result.stderr
    return folder


def test_every_page_is_built_and_within_reach(site: Path):
    home = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").exists()
        assert f'href="{page.stem}.html"' in home or page.stem == "index"


def test_pages_fetch_nothing_from_elsewhere(site: Path):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|link)\b[^>]*?(?:src|href)="(https?://[^"]+)"', text)
        assert not fetched, (page.name, fetched)


def test_the_api_is_generated_from_docstrings(site: Path):
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in re.findall(r"^::: (\S+)$", (ROOT / "docs/api.md").read_text("utf-8"), re.MULTILINE):
        assert f'id="{name}"' in text, name


def test_hooks_and_schemas_are_where_links_point(site: Path):
    assert not (site / "hooks.py").exists()
    for schema in (ROOT / "docs" / "schema").glob("*.json"):
        assert (site / "schema" / schema.name).exists()
