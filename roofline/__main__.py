"""``python -m roofline``."""

from __future__ import annotations

from roofline.cli.main import main

if __name__ == "__main__":
    main()
