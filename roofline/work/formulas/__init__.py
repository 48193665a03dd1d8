"""Formulas by family. A new operator is one registered function here, or in a user's code."""

from __future__ import annotations
