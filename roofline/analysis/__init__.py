"""Pure functions from captures, work and hardware to results."""

from __future__ import annotations
