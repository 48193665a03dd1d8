"""A mapping whose content is found out when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from roofline.captures.decoding import decoding

__all__ = ["LazyMapping"]

Value = TypeVar("Value")


class LazyMapping(Mapping[str, Value], Generic[Value]):
    """Metadata of ``path``: calls ``load`` once, on first use, and then is what it returned.

    What ``load`` raises is raised at that use, as ``CaptureError``.
    """

    def __init__(self, path: Path, load: Callable[[], Mapping[str, Value]]) -> None:
        self._path, self._load = path, load

    @cached_property
    def _content(self) -> Mapping[str, Value]:
        with decoding(self._path, "the metadata"):
            return self._load()

    def __getitem__(self, key: str) -> Value:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return repr(dict(self._content))
