"""What the vendor's Explorer writes: Parquet folders, CSV exports, and the tool itself."""

from __future__ import annotations
