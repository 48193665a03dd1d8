"""A time model of a kernel on a Hardware, and sweeps over it."""

from __future__ import annotations
