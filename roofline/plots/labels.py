"""Place labels beside their anchors so that no two overlap, in screen units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Box", "place_labels", "shorten"]

_ANGLES: Final = 16
_DISTANCES: Final = (13.0, 18.0, 24.0, 30.0, 42.0, 58.0, 80.0, 110.0, 150.0, 200.0, 270.0, 360.0)
_PAD: Final = 2.0


class Box(NamedTuple):
    """An axis-aligned box in screen units."""

    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: Box) -> bool:
        """Whether two boxes share an area."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )


def shorten(text: str, limit: int = 44) -> str:
    """Return ``text`` cut in its middle to ``limit`` characters; ends tell names apart."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    keep = limit - 1
    return f"{text[: keep - keep // 2]}…{text[len(text) - keep // 2 :]}"


def place_labels(
    anchors: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Sequence[Box],
    bounds: Box,
) -> list[Box | None]:
    """Return a box for each label, near its anchor and clear of everything placed before.

    ``anchors`` are (x, y), ``sizes`` (width, height); ``obstacles`` are kept clear. Labels go to
    the first free place on rings around the anchor, then to any free place inside ``bounds``;
    ``None`` where there is none.
    """
    taken = [np.array(box, dtype=np.float64) for box in obstacles]
    placed: list[Box | None] = []
    for anchor, (width, height) in zip(anchors, sizes, strict=True):
        candidates = np.concatenate(
            (_rings(anchor, width, height), _grid(anchor, width, height, bounds))
        )
        free = _inside(candidates, bounds)
        if taken:
            free = free & ~_overlaps(candidates, np.stack(taken))
        if not free.any():
            placed.append(None)
            continue
        box = Box(*(float(edge) for edge in candidates[int(np.argmax(free))]))
        placed.append(box)
        taken.append(
            np.array((box.left - _PAD, box.bottom - _PAD, box.right + _PAD, box.top + _PAD))
        )
    return placed


def _rings(anchor: tuple[float, float], width: float, height: float) -> NDArray[np.float64]:
    """Candidate boxes around an anchor: right first, then round, nearer before farther."""
    boxes = []
    order = sorted(range(_ANGLES), key=lambda step: (min(step, _ANGLES - step), step))
    for distance in _DISTANCES:
        for step in order:
            angle = 2 * math.pi * step / _ANGLES
            x = anchor[0] + distance * math.cos(angle)
            y = anchor[1] + distance * math.sin(angle)
            # the side of the box that faces the anchor touches the ring
            left = x - width * (1 - math.cos(angle)) / 2
            bottom = y - height * (1 - math.sin(angle)) / 2
            boxes.append((left, bottom, left + width, bottom + height))
    return np.array(boxes)


def _grid(
    anchor: tuple[float, float], width: float, height: float, bounds: Box
) -> NDArray[np.float64]:
    """Candidate boxes all over the bounds, nearest to the anchor first."""
    step = height + 2 * _PAD
    lefts = np.arange(bounds.left, bounds.right - width, max(step, width / 4))
    bottoms = np.arange(bounds.bottom, bounds.top - height, step)
    if not len(lefts) or not len(bottoms):
        return np.empty((0, 4))
    x, y = (part.ravel() for part in np.meshgrid(lefts, bottoms))
    far = np.hypot(x + width / 2 - anchor[0], y + height / 2 - anchor[1])
    order = np.argsort(far, kind="stable")
    return np.stack((x, y, x + width, y + height), axis=1)[order]


def _inside(boxes: NDArray[np.float64], bounds: Box) -> NDArray[np.bool_]:
    return np.asarray(
        (boxes[:, 0] >= bounds.left)
        & (boxes[:, 1] >= bounds.bottom)
        & (boxes[:, 2] <= bounds.right)
        & (boxes[:, 3] <= bounds.top),
        dtype=np.bool_,
    )


def _overlaps(boxes: NDArray[np.float64], taken: NDArray[np.float64]) -> NDArray[np.bool_]:
    a, b = boxes[:, None, :], taken[None, :, :]
    hit = (
        (a[..., 0] < b[..., 2])
        & (b[..., 0] < a[..., 2])
        & (a[..., 1] < b[..., 3])
        & (b[..., 1] < a[..., 3])
    )
    return np.asarray(hit.any(axis=1), dtype=np.bool_)
