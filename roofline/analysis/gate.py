"""A gate: rules such as ``time > +5% and > 2us``, held against a comparison.

::

    rules     = rule { ("or" | ";") rule }
    rule      = condition { "and" condition } | "verdict changes" | "finding appears"
    condition = [quantity] (">" | ">=" | "<" | "<=") amount
    amount    = number "%" | number unit

Every condition is about the change from base to new: ``time > 5%`` fails when the time grows by
more than 5 %. A condition without a quantity is about the one before it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from roofline.analysis.comparison import Comparison, Delta, Pair
from roofline.errors import QueryError, UnitError
from roofline.units import format_count, format_percent, format_si, format_time, parse_quantity

__all__ = [
    "DEFAULT_RULES",
    "QUANTITIES",
    "Condition",
    "Gate",
    "Judgement",
    "check_gate",
    "gate_passes",
    "parse_gate",
]

QUANTITIES: Final = {
    "time": ("time",),
    "launches": ("launches",),
    "bytes": ("bytes:measured", "bytes:dispatched", "bytes:minimal"),
    "flop": ("tensor-flop", "flop"),
    "passes": ("passes",),
    **{
        name: (name,)
        for name in (
            "tensor",
            "vector",
            "scalar",
            "gpsimd",
            "sync",
            "dma",
            "exposed-dma",
            "waiting",
            "throttled",
        )
    },
}
"""Quantity of a rule -> the deltas it stands for, the first that is known."""

DEFAULT_RULES: Final = "time > 5% and > 2us"

_EVENTS: Final = {"verdict changes": "verdict", "finding appears": "finding"}
_OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION: Final = re.compile(r"^(?P<name>[a-z-]*)\s*(?P<op>>=|<=|>|<)\s*(?P<amount>[^<>=]+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A limit on the change of a quantity; ``relative`` limits are fractions of the base."""

    quantity: str
    op: str
    limit: float
    relative: bool

    def holds(self, delta: Delta) -> bool | None:
        """Whether the change is beyond the limit; ``None`` where it is not known."""
        value = delta.relative if self.relative else delta.change
        if value is None and self.relative and delta.base == 0 and delta.new:
            value = float("inf")  # from nothing to something is beyond every share
        if value is None and delta.change == 0:
            value = 0.0
        return None if value is None else _OPERATORS[self.op](value, self.limit)

    def seconds(self, base: float) -> float:
        """Return the limit in the unit of the quantity, at a base."""
        return self.limit * base if self.relative else self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Rules of which none may hold; each is a conjunction of conditions, or an event."""

    text: str
    rules: tuple[tuple[Condition, ...] | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a gate says of one pair.

    ``status`` is ``failed``, ``impossible``, ``gone``, ``refused`` or ``unknown`` (all of them
    stop the gate), or ``within-noise``, ``passed`` or ``new`` (they do not). ``severity`` orders
    judgements: relative change of what failed.
    """

    run: str
    pair: Pair
    status: str
    why: str
    severity: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the gate lets this pair through."""
        return self.status in ("passed", "within-noise", "new")


def parse_gate(text: str) -> Gate:
    """Return the rules of a text; raises ``QueryError`` that says what is allowed."""
    rules: list[tuple[Condition, ...] | str] = []
    for part in re.split(r"\bor\b|;", text):
        rule = " ".join(part.lower().split())
        if not rule:
            raise QueryError(f"rule {text!r}: an empty rule; {_ALLOWED}")
        if rule in _EVENTS:
            rules.append(_EVENTS[rule])
            continue
        quantity, conditions = "", []
        for piece in re.split(r"\band\b", part):
            condition = _condition(piece, quantity, text)
            quantity = condition.quantity
            conditions.append(condition)
        rules.append(tuple(conditions))
    return Gate(text=" ".join(text.split()), rules=tuple(rules))


_ALLOWED: Final = (
    "write for example 'time > 5% and > 2us or bytes > 10%'; quantities: "
    f"{', '.join(QUANTITIES)}; events: {', '.join(_EVENTS)}"
)


def _condition(piece: str, quantity: str, text: str) -> Condition:
    match = _CONDITION.match(piece.strip())
    if match is None:
        raise QueryError(f"rule {text!r}: {piece.strip()!r} is no condition; {_ALLOWED}")
    name = match["name"] or quantity
    if name not in QUANTITIES:
        raise QueryError(f"rule {text!r}: unknown quantity {name!r}; {_ALLOWED}")
    amount = match["amount"].strip()
    try:
        if amount.endswith("%"):
            return Condition(
                quantity=name, op=match["op"], limit=float(amount[:-1]) / 100, relative=True
            )
        unit = {"bytes": "B", "flop": "FLOP", "launches": "1", "passes": "1"}.get(name, "s")
        return Condition(
            quantity=name, op=match["op"], limit=parse_quantity(amount, unit), relative=False
        )
    except (ValueError, UnitError) as error:
        raise QueryError(f"rule {text!r}: {amount!r} is no amount: {error}") from None


def check_gate(comparison: Comparison, gate: Gate) -> tuple[Judgement, ...]:
    """Return a judgement for every pair, the worst first.

    A change of time within its noise never fails. What cannot be judged - a kernel that is gone,
    clocks that differ, a quantity of a rule that one side lacks - does not pass.
    """
    found = [
        _judge(versus.run.label, pair, gate)
        for versus in comparison.versus
        for pair in versus.pairs
    ]
    order = ("impossible", "failed", "gone", "refused", "unknown", "within-noise", "passed", "new")
    return tuple(sorted(found, key=lambda one: (order.index(one.status), -one.severity)))


def _judge(run: str, pair: Pair, gate: Gate) -> Judgement:
    def say(status: str, why: str, severity: float = 0.0) -> Judgement:
        return Judgement(run=run, pair=pair, status=status, why=why, severity=severity)

    impossible = [line for side, line in pair.impossible if side == "new"]
    if impossible:
        return say("impossible", "; ".join(impossible), float("inf"))
    if pair.outcome in ("gone", "new"):
        return say(pair.outcome, pair.words)
    if pair.refused:
        return say("refused", pair.refused)
    unknown, noisy, beyond = [], [], []
    for rule in gate.rules:
        status, words, severity = _rule(pair, rule)
        if status == "unknown":
            unknown.append(words)
        elif status == "within-noise":
            noisy.append(words)
        elif status == "failed":
            beyond.append((severity, words))
    if beyond:
        worst = max(severity for severity, _ in beyond)
        return say("failed", "; ".join(words for _, words in beyond), worst)
    if unknown:
        return say("unknown", "; ".join(unknown))
    if noisy:
        return say("within-noise", "; ".join(noisy))
    return say("passed", _below_noise(pair, gate))


def _rule(pair: Pair, rule: tuple[Condition, ...] | str) -> tuple[str, str, float]:
    if rule == "verdict":
        verdicts = [one.verdict for one in (pair.base, pair.new) if one is not None]
        if pair.base is None or pair.new is None or {"", "unknown"} & {*verdicts}:
            return "unknown", "a verdict is not known", 0.0
        words = f"the verdict changes from {pair.base.verdict} to {pair.new.verdict}"
        return ("failed" if pair.verdict_changed else "passed"), words, 0.0
    if rule == "finding":
        if pair.findings_new is None:
            return "unknown", "findings are not known on both sides", 0.0
        words = f"new findings: {', '.join(id_ for id_, _ in pair.findings_new)}"
        return ("failed" if pair.findings_new else "passed"), words, 0.0
    if isinstance(rule, str):
        raise QueryError(f"unknown event {rule!r}")
    parts: list[str] = []
    severity, timed = 0.0, False
    for condition in rule:
        delta = _delta(pair, condition.quantity)
        holds = None if delta is None else condition.holds(delta)
        if delta is None or holds is None:
            return "unknown", f"{condition.quantity} is not known on both sides", 0.0
        if not holds:
            return "passed", "", 0.0
        severity = max(severity, abs(delta.relative or 0.0))
        timed = timed or delta.id == "time"
        if _change(delta) not in parts:
            parts.append(_change(delta))
    change = pair.change_s or 0.0
    if timed and pair.noise.seconds is not None and abs(change) <= pair.noise.seconds:
        noise = f"within the noise of {format_time(pair.noise.seconds)} ({pair.noise.source})"
        return "within-noise", f"{' and '.join(parts)}, {noise}", 0.0
    return "failed", " and ".join(parts), severity


def _delta(pair: Pair, quantity: str) -> Delta | None:
    found = (pair.delta(id_) for id_ in QUANTITIES[quantity])
    return next((one for one in found if one is not None and one.change is not None), None)


def _below_noise(pair: Pair, gate: Gate) -> str:
    """Say when a limit on time is finer than the noise: the gate cannot see so little."""
    if pair.noise.seconds is None or pair.base_s is None:
        return ""
    for rule in gate.rules:
        if isinstance(rule, str):
            continue
        limits = [abs(one.seconds(pair.base_s)) for one in rule if one.quantity == "time"]
        if limits and max(limits) < pair.noise.seconds:
            return (
                f"the limit of {format_time(max(limits))} is finer than the noise of "
                f"{format_time(pair.noise.seconds)}: only more than that can fail"
            )
    return ""


def _change(delta: Delta) -> str:
    values = [_value(delta.base, delta.unit), _value(delta.new, delta.unit)]
    share = "" if delta.relative is None else f" ({format_percent(delta.relative, signed=True)})"
    return f"{delta.label} {values[0]} -> {values[1]}{share}"


def _value(value: float | None, unit: str) -> str:
    if unit == "s":
        return format_time(value)
    return format_count(value) if unit in ("1", "B") else format_si(value, unit)


def gate_passes(judgements: Sequence[Judgement]) -> bool:
    """Whether nothing stops the gate."""
    return all(one.ok for one in judgements)
