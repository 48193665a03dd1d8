"""``nki.isa`` on numpy."""

from __future__ import annotations

from tests.record.numpy_nki import Machine

globals().update(vars(Machine().nisa))
