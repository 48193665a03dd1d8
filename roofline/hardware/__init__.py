"""Hardware models: load and validate hw_models, derive roofs."""

from __future__ import annotations
