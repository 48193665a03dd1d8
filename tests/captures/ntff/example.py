"""The trace of the documentation's examples; running this module writes it."""

from __future__ import annotations

from pathlib import Path

from tests.captures.ntff.test_hostile import sample

PATH = Path(__file__).resolve().parents[3] / "docs/examples/kernel.ntff"

if __name__ == "__main__":
    PATH.write_bytes(sample(6))
