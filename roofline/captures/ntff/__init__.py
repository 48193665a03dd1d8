"""Decoder of NTFF, the trace a NeuronCore writes (versions 4, 5 and 6)."""

from __future__ import annotations
