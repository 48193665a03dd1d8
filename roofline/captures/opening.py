"""Open captures as a command asks: the vendor's rows, another tool, programs of traces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roofline.captures.capture import Capture
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError

__all__ = ["Opener"]


class Opener:
    """Opens any number of captures; each option counts for those it can be about.

    ``compat`` (``vendor`` or ``None``) counts for all. With ``via="explorer"`` the vendor's tool
    converts raw traces, and sessions of them. A program of ``neffs`` is joined to the raw traces
    it is the program of. ``program`` takes that one from summaries that hold it. When all is
    open, ``check`` refuses an option that was about nothing.
    """

    def __init__(
        self,
        *,
        compat: str | None = None,
        via: str | None = None,
        neffs: Sequence[Path] = (),
        program: str | None = None,
    ) -> None:
        self.compat = compat
        self._via, self._neffs, self._program = via, tuple(neffs), program
        self._used: set[str] = set()
        self._refused: dict[str, CaptureError] = {}

    def __call__(self, path: str | Path) -> Capture:
        """Return the capture at a path; ``CaptureError`` for what is none."""
        path = Path(path)
        if self._via is not None and (path.is_dir() or path.suffix == ".ntff"):
            capture = self._converted(path)
        else:
            capture = self._joined(open_capture(path, self.compat))
        return capture if self._program is None else self._chosen(capture)

    def check(self) -> None:
        """Raise ``CaptureError`` for the first option that no capture took, with the reason."""
        wanted = [f"--neff {neff}" for neff in self._neffs]
        wanted += [] if self._program is None else [f"--program {self._program}"]
        wanted += [] if self._via is None else [f"--via {self._via}"]
        for option in wanted:
            if option in self._used:
                continue
            raise self._refused.get(option) or CaptureError(
                f"{option}: nothing was opened that it can be about"
            )

    def _converted(self, path: Path) -> Capture:
        from roofline.captures.explorer.tool import open_via_explorer

        fitting = None if path.is_dir() else next(iter(self._fitting(path)), None)
        capture = open_via_explorer(path, fitting, compat=self.compat)
        self._used.add(f"--via {self._via}")
        return capture

    def _fitting(self, path: Path) -> list[Path]:
        """Return the programs of a raw trace, and take note of the others."""
        if not self._neffs:
            return []
        from roofline.captures.neff.join import check_pair
        from roofline.captures.neff.program import open_neff
        from roofline.captures.ntff.trace import open_trace

        trace = open_trace(path, self.compat).program
        found = []
        for neff in self._neffs:
            try:
                check_pair(open_neff(neff), trace, str(path))
            except CaptureError as error:
                self._refused[f"--neff {neff}"] = error
            else:
                self._used.add(f"--neff {neff}")
                found.append(neff)
        return found

    def _joined(self, capture: Capture) -> Capture:
        from roofline.captures.neff.attach import attach_neff

        if capture.format != "ntff":
            for neff in self._neffs:
                error = CaptureError(
                    f"{capture.path}: a program is joined to a raw trace (.ntff), not to "
                    f"{capture.format}"
                )
                self._refused.setdefault(f"--neff {neff}", error)
            return capture
        fitting = self._fitting(capture.path)
        return attach_neff(capture, fitting[0]) if fitting else capture

    def _chosen(self, capture: Capture) -> Capture:
        from roofline.captures.summary.capture import select_program

        option = f"--program {self._program}"
        try:
            chosen = select_program(capture, str(self._program))
        except CaptureError as error:
            if capture.metadata.get("programs") or option not in self._refused:
                self._refused[option] = error
            return capture
        self._used.add(option)
        return chosen
