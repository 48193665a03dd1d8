"""Text, tables and figures put together into files."""

from __future__ import annotations
