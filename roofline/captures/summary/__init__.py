"""Summaries of a profile, JSON or text."""

from __future__ import annotations
