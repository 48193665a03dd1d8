"""Work: what a kernel must do, counted from torch or in closed form."""

from __future__ import annotations
