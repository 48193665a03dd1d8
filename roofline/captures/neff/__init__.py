"""Compiled programs (NEFF): read from memory, never unpacked, and joined to traces."""

from __future__ import annotations
