"""Assertions for tests of kernels: no slower than a baseline, no faster than physics."""

from __future__ import annotations

from roofline.testing.asserting import assert_roofline

__all__ = ["assert_roofline"]
