"""One module a capture format, each with a ``READER``; a new format is one new file here."""

from __future__ import annotations
