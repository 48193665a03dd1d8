"""Findings about one execution: one file each, found by the registry."""

from __future__ import annotations
