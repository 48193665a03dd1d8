"""Thin command line: parse, call one library function, print."""

from __future__ import annotations
