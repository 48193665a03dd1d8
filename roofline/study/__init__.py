"""Studies: variants, times and captures that belong together."""

from __future__ import annotations
