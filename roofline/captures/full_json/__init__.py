"""Full-profile JSON of the vendor's tool, streamed."""

from __future__ import annotations
