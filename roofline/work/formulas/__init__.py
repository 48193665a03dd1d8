"""Formulas by family: a new operator is one registered function in a module here or elsewhere."""

from __future__ import annotations
