"""Figure descriptions as Bokeh models for the interactive page."""

from __future__ import annotations
