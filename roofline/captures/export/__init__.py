"""Writers of captures in other tools' formats."""

from __future__ import annotations
