"""A capture judged: evidence, verdict and findings of one window, from events or a summary."""

from __future__ import annotations

from dataclasses import dataclass

from roofline.analysis.evidence import Evidence
from roofline.analysis.finding import Finding
from roofline.analysis.findings.registry import find
from roofline.analysis.findings.scene import Scene, scene_of
from roofline.analysis.from_capture import evidence_from_capture
from roofline.analysis.from_summary import evidence_from_summary
from roofline.analysis.marks import Thresholds
from roofline.analysis.verdict import Verdict, decide
from roofline.captures.capture import Capture
from roofline.errors import QueryError
from roofline.hardware.model import Hardware

__all__ = ["Judgement", "judge"]


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is known of an execution, what holds it back, and what would help, best first."""

    evidence: Evidence
    verdict: Verdict
    findings: tuple[Finding, ...]
    scene: Scene


def judge(
    capture: Capture,
    hardware: Hardware,
    window: str = "body",
    preset: str | Thresholds = "vendor",
) -> Judgement:
    """Return evidence, verdict and findings of a capture.

    A capture with instructions is judged by its events on the core with the most work; a summary
    by its counters, where ``window`` is ``body`` or ``total``. Raises ``QueryError`` for a window
    a summary does not have, ``CaptureError`` for a summary without a time.
    """
    if capture.has("instructions"):
        evidence = evidence_from_capture(capture, hardware, window)
    else:
        if window not in ("body", "total"):
            raise QueryError(f"window {window!r}: a summary has only body and total")
        evidence = evidence_from_summary(capture.summary, hardware, window=window)
    scene = scene_of(capture, hardware, window)
    return Judgement(
        evidence=evidence, verdict=decide(evidence, preset), findings=find(scene), scene=scene
    )
