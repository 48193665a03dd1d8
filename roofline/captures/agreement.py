"""How far a decoded trace agrees with what the vendor's tool wrote about the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roofline.captures.capture import Capture
from roofline.captures.registry import open_capture
from roofline.errors import CaptureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Agreement", "Check", "compare_captures", "find_pairs", "total_checks", "verify_pair"]

TOLERANCE: Final = 1e-6
"""Relative difference up to which two summary fields are equal; both tools print floats."""

_ROW: Final = ("pcore_idx", "engine", "start_ts", "duration_ns", "pc")

_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "instructions": (*_ROW, "opcode", "crc_in", "crc_out"),
    "semaphores": ("pcore_idx", "timestamp", "id", "value"),
    "dma": (
        *("pcore_idx", "engine_idx", "queue_idx", "start_ts", "duration_ns"),
        *("transfer_bytes", "crc", "queue_type"),
    ),
    "active": ("pcore_idx", "engine", "start_ts", "end_ts", "duration_ns"),
    "throttle": ("timestamp", "duration", "k", "n", "type"),
}
"""Columns whose rows are compared as multisets, by table."""

_LOOKED_UP: Final = (
    *("hbm_read_bytes", "hbm_write_bytes", "sbuf_read_bytes", "sbuf_write_bytes"),
    *("psum_read_bytes", "psum_write_bytes", "psum_read_sbuf_write_bytes"),
    *("raw_flops", "scalar_activation_fn"),
)
"""Columns compared row by row where the decoded trace has a value."""

_QUEUE_NAME: Final = r"(S\[\d+\]) \(q\w+\)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One comparison: ``equal`` of ``compared``, with why the rest differs where that is known.

    ``explained`` differences have a reason and do not count against the agreement.
    """

    name: str
    compared: int
    equal: int
    explained: int = 0
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Whether nothing differs without a reason."""
        return self.equal + self.explained == self.compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """All comparisons of one pair of captures."""

    ours: Path
    theirs: Path
    checks: tuple[Check, ...]

    @property
    def agrees(self) -> bool:
        """Whether every check agrees."""
        return all(check.agrees for check in self.checks)


def find_pairs(path: Path) -> list[tuple[Path, Path]]:
    """Return traces and the vendor's output beside them (same name before the first dot).

    ``path`` is a trace or a folder, searched below. Raises ``CaptureError`` when there is none.
    """
    traces = sorted(path.rglob("*.ntff")) if path.is_dir() else [path]
    pairs = []
    for trace in traces:
        stem = trace.name.split(".")[0]
        beside = [
            trace.with_name(stem + suffix)
            for suffix in (".json", ".json.gz", ".summary.txt", ".summary.json", ".txt")
        ]
        found = next((candidate for candidate in beside if candidate.is_file()), None)
        if found is not None:
            pairs.append((trace, found))
    if not pairs:
        raise CaptureError(
            f"{path}: no trace with the vendor's output beside it "
            "(NAME.ntff and NAME.json, NAME.json.gz, NAME.summary.txt or NAME.summary.json)"
        )
    return pairs


def verify_pair(ours: Path, theirs: Path) -> Agreement:
    """Compare a trace, decoded by the vendor's rules, with the vendor's output of the same run."""
    return compare_captures(open_capture(ours, "vendor"), open_capture(theirs, "vendor"))


def compare_captures(ours: Capture, theirs: Capture) -> Agreement:
    """Compare tables and summary of a decoded trace with the vendor's."""
    checks: list[Check] = []
    for name, columns in _TABLES.items():
        if ours.has(name) and theirs.has(name):
            checks.append(_rows(name, ours.table(name, columns), theirs.table(name, columns)))
    if ours.has("instructions") and theirs.has("instructions"):
        checks.extend(_by_row(ours.instructions, theirs.instructions))
    if theirs.summary:
        checks.append(_summary(ours, theirs.summary))
    return Agreement(ours=ours.path, theirs=theirs.path, checks=tuple(checks))


def _plain(table: pa.Table) -> pa.Table:
    """Return a table with every column as int64 or string, which compare across readers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = []
    for field in table.schema:
        wide = pa.int64() if pa.types.is_integer(field.type) else pa.string()
        fields.append(pa.field(field.name, wide))
    table = table.cast(pa.schema(fields))
    if "timestamp" in table.column_names and "id" in table.column_names:
        # the vendor prints S[24] (its queue) or 24 for one and the same semaphore
        number = pc.replace_substring_regex(
            table["id"], pattern=r"^S\[(\d+)\].*", replacement=r"\1"
        )
        table = table.set_column(table.column_names.index("id"), "id", number)
    return table


def _rows(name: str, ours: pa.Table, theirs: pa.Table) -> Check:
    """Compare rows as multisets."""
    import pyarrow.compute as pc

    keys = ours.column_names
    counted = [
        _plain(table).group_by(keys).aggregate([([], "count_all")]) for table in (ours, theirs)
    ]
    both = counted[0].join(counted[1], keys=keys, join_type="inner", right_suffix="_theirs")
    equal = pc.sum(pc.min_element_wise(both["count_all"], both["count_all_theirs"])).as_py() or 0
    note = "" if ours.num_rows == theirs.num_rows else f"{ours.num_rows} decoded"
    compared = max(ours.num_rows, theirs.num_rows)
    return Check(name=name, compared=compared, equal=equal, note=note)


def _by_row(ours: pa.Table, theirs: pa.Table) -> Iterator[Check]:
    """Compare what belongs to a row, over rows that both sides have once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = list(_ROW)
    wanted = ["operands", "evt_wait_time_ns", *_LOOKED_UP]
    held = [
        column for column in wanted if {column} <= {*ours.column_names} & {*theirs.column_names}
    ]
    both = _plain(ours.select([*keys, *held])).join(
        _plain(theirs.select([*keys, *held])), keys=keys, right_suffix="_theirs", join_type="inner"
    )

    def count(mask: Any) -> int:
        return int(pc.sum(pc.fill_null(mask, fill_value=False).cast(pa.int64())).as_py() or 0)

    if "operands" in held:
        text, other = both["operands"], both["operands_theirs"]
        equal = count(pc.equal(text, other))
        bare = [
            pc.replace_substring_regex(side, pattern=_QUEUE_NAME, replacement=r"\1")
            for side in (text, other)
        ]
        explained = count(pc.equal(*bare)) - equal
        note = "the rest but for queue names that only the program knows" if explained else ""
        yield Check(
            name="operands", compared=len(both), equal=equal, explained=explained, note=note
        )
    if "evt_wait_time_ns" in held:
        gap = pc.abs(pc.subtract(both["evt_wait_time_ns"], both["evt_wait_time_ns_theirs"]))
        exact = count(pc.equal(gap, 0))
        rounded = count(pc.equal(gap, 1))
        note = "the rest 1 ns apart: the vendor rounds in floating point" if rounded else ""
        yield Check(
            name="evt_wait_time", compared=len(both), equal=exact, explained=rounded, note=note
        )
    for column in (name for name in _LOOKED_UP if name in held):
        known = pc.is_valid(both[column])
        equal = count(pc.and_(known, pc.equal(both[column], both[f"{column}_theirs"])))
        if compared := count(known):
            yield Check(name=column, compared=compared, equal=equal)


def _summary(ours: Capture, theirs: Mapping[str, Any]) -> Check:
    absent: Mapping[str, str] = ours.metadata.get("summary_absent", {})
    summary = ours.summary
    differ = [
        name
        for name, value in theirs.items()
        if name in summary and not _close(summary[name], value)
    ]
    missing = [name for name in theirs if name not in summary]
    explained = [name for name in missing if name in absent or not theirs[name]]
    unexplained = [name for name in missing if name not in explained]
    notes = []
    if differ or unexplained:
        notes.append("differ: " + ", ".join([*differ, *unexplained]))
    for reason in sorted({absent.get(name, "zero, printed by older tools") for name in explained}):
        names = [
            name for name in explained if absent.get(name, "zero, printed by older tools") == reason
        ]
        notes.append(f"{reason}: {', '.join(names)}")
    return Check(
        name="summary",
        compared=len(theirs),
        equal=len(theirs) - len(differ) - len(missing),
        explained=len(explained),
        note="; ".join(notes),
    )


def _close(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, str) or isinstance(theirs, str):
        return bool(ours == theirs)
    return bool(abs(ours - theirs) <= TOLERANCE * max(abs(theirs), abs(ours)))


def total_checks(agreements: Sequence[Agreement]) -> tuple[Check, ...]:
    """Return the checks of many pairs added up by name."""
    names = list(dict.fromkeys(check.name for one in agreements for check in one.checks))
    totals = []
    for name in names:
        parts = [check for one in agreements for check in one.checks if check.name == name]
        notes = dict.fromkeys(check.note for check in parts if check.note)
        totals.append(
            Check(
                name=name,
                compared=sum(check.compared for check in parts),
                equal=sum(check.equal for check in parts),
                explained=sum(check.explained for check in parts),
                note=" | ".join(notes),
            )
        )
    return tuple(totals)
