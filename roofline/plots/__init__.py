"""Figures from results; nothing is computed here."""

from __future__ import annotations
