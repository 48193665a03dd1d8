"""The chip of a question that names none."""

from __future__ import annotations

from typing import Final

__all__ = ["ASSUMED"]

ASSUMED: Final = "trn2"
"""What commands, sweeps and traces without a chip assume; every result names it."""
