"""One module a subcommand: its name is the command's, its ``command`` the click command."""

from __future__ import annotations
