"""Captures: one reader a format, all of them giving the same Capture."""

from __future__ import annotations
