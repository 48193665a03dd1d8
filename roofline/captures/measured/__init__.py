"""Tables of measured times that people and benchmarks write."""

from __future__ import annotations
