"""``assert_roofline``: hold a run against a baseline, a time, a verdict or its own bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from os import PathLike, fspath

from roofline.analysis.compare import compare_runs
from roofline.analysis.comparison import Comparison
from roofline.analysis.gate import DEFAULT_RULES
from roofline.analysis.observed import Observed, Run
from roofline.errors import QueryError
from roofline.report.compare_run import check_baseline
from roofline.study.observe import observe_joined
from roofline.study.options import Options
from roofline.units import format_time, parse_time

__all__ = ["Path", "assert_roofline"]

Path = str | PathLike[str]


def assert_roofline(
    path: Path | Sequence[Path],
    baseline: Path | None = None,
    *,
    fail_on: str = DEFAULT_RULES,
    noise: str | None = None,
    keys: Mapping[str, str] | None = None,
    faster_than: str | None = None,
    of_bound: float | None = None,
    verdict: str | None = None,
    without: Iterable[str] = (),
    options: Options | None = None,
) -> Run:
    """Assert what is asked of a run, and always that no time is faster than its bound.

    Parameters
    ----------
    path
        What ``roofline compare`` takes: a capture, a study, a table ... Several are repeats.
    baseline
        A baseline file, or another run: none of the rules ``fail_on`` may hold against it.
        ``noise`` states the spread of single runs, ``keys`` maps names of kernels.
    faster_than
        A time with its unit, such as ``"30us"``, that every kernel must be below.
    of_bound
        The least share of its bound (bound over time, 0 to 1) that every kernel must reach.
    verdict
        A pattern that every verdict must match, such as ``"tensor:*"``.
    without
        Ids of findings that no kernel may have.

    options
        How the paths are read: hardware, window ...

    Returns
    -------
    Run
        What was observed.

    Raises
    ------
    AssertionError
        Naming every kernel that does not hold, and why.
    RooflineError
        For input that cannot be read.
    """
    paths = [path] if isinstance(path, (str, PathLike)) else list(path)
    names = [fspath(one) for one in paths]
    options = options or Options(repeats=len(names) > 1)
    run = observe_joined(names, options, label="now")
    lines = [
        *_impossible(run),
        *(line for one in run.observed for line in _wanted(one, faster_than, of_bound, verdict)),
        *(line for one in run.observed for line in _unwanted(one, tuple(without))),
    ]
    if baseline is not None:
        compared = check_baseline(
            fspath(baseline), names, options=options, keys=keys, noise=noise, fail_on=fail_on
        )
        lines += [
            f"{one.pair.key}: {one.status}: {one.why}" for one in compared.judgements if not one.ok
        ]
    if lines:
        raise AssertionError("\n".join(dict.fromkeys(lines)))
    return run


def _impossible(run: Run) -> Iterator[str]:
    comparison: Comparison = compare_runs([run, run])
    for pair in comparison.pairs:
        yield from (what for side, what in pair.impossible if side == "new")


def _wanted(
    one: Observed, faster_than: str | None, of_bound: float | None, verdict: str | None
) -> Iterator[str]:
    timing = one.timings[0] if one.timings else None
    if (faster_than is not None or of_bound is not None) and timing is None:
        yield f"{one.key}: has no time"
        return
    if faster_than is not None and timing is not None and timing.seconds >= parse_time(faster_than):
        yield f"{one.key}: {format_time(timing.seconds)}, not below {faster_than}"
    if of_bound is not None and timing is not None:
        if one.bound_s is None:
            yield f"{one.key}: no bound is known"
        elif one.bound_s / timing.seconds < of_bound:
            yield (
                f"{one.key}: {one.bound_s / timing.seconds:.3g} of the {one.bound_what}, "
                f"less than {of_bound:g}"
            )
    if verdict is not None and not fnmatchcase(one.verdict or "unknown", verdict):
        yield f"{one.key}: verdict {one.verdict or 'unknown'}, not {verdict}"


def _unwanted(one: Observed, without: Sequence[str]) -> Iterator[str]:
    if without and one.findings is None:
        raise QueryError(f"{one.key}: findings are not known for this input")
    for id_ in without:
        if one.findings and id_ in one.findings:
            yield f"{one.key}: finding {id_}: {one.findings[id_]}"
