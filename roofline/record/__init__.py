"""Recording of captures on a host."""

from __future__ import annotations
