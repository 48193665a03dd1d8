"""Every error the library raises on purpose.

::

    RooflineError
    ├── CaptureError (ValueError)             a capture cannot be read, or contradicts itself
    │   └── MissingTableError (LookupError)   the capture has no such table or column
    ├── HardwareModelError (ValueError)       a hardware model is unknown, incomplete or wrong
    ├── WorkError (ValueError)                work cannot be described: shapes, dtypes, counts
    │   └── MissingFormulaError (LookupError) an operator has no formula and strict mode is on
    ├── StudyError (ValueError)               a study file is wrong
    ├── QueryError (ValueError)               an expression, window or dimension is wrong
    ├── UnitError (ValueError)                a quantity has no unit, or one that is not allowed
    └── OptionalDependencyError (ImportError) a feature needs a package that is not installed

A message says what was wrong, the value, where it stands, and what is allowed.
"""

from __future__ import annotations

__all__ = [
    "CaptureError",
    "HardwareModelError",
    "MissingFormulaError",
    "MissingTableError",
    "OptionalDependencyError",
    "QueryError",
    "RooflineError",
    "StudyError",
    "UnitError",
    "WorkError",
]


class RooflineError(Exception):
    """Base of everything raised on purpose; the command line prints it as one line."""


class CaptureError(RooflineError, ValueError):
    """A capture cannot be read, or contradicts itself.

    ``offset`` (bytes from the start of the file) and ``section`` locate the fault where known;
    ``reason`` is the message without them.
    """

    def __init__(
        self, message: str, *, offset: int | None = None, section: str | None = None
    ) -> None:
        self.reason = message
        self.offset = offset
        self.section = section
        where = ", ".join(
            part
            for part in (
                f"section {section}" if section else "",
                f"offset {offset}" if offset is not None else "",
            )
            if part
        )
        super().__init__(f"{message} ({where})" if where else message)


class MissingTableError(CaptureError, LookupError):
    """The capture has no such table or column: absent, which is not the same as empty."""


class HardwareModelError(RooflineError, ValueError):
    """A hardware model is unknown, incomplete or wrong; the message gives the path of the key."""


class WorkError(RooflineError, ValueError):
    """Work cannot be described: wrong shapes, dtypes or counts."""


class MissingFormulaError(WorkError, LookupError):
    """An operator has no formula, and strict mode asked for a complete count."""


class StudyError(RooflineError, ValueError):
    """A study file is wrong."""


class QueryError(RooflineError, ValueError):
    """An expression, a window or a dimension of a query is wrong."""


class UnitError(RooflineError, ValueError):
    """A quantity has no unit, or one that is not allowed here."""


class OptionalDependencyError(RooflineError, ImportError):
    """A feature needs a package that is not installed; the message gives the install command."""
