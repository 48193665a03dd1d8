from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.report.browser import chromium


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found
