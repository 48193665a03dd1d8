"""Parse quantities that people write, and format quantities for people.

Inside the library everything is SI base units (seconds, bytes, FLOP); these functions stand only
at its edges. Decimal prefixes are powers of 1000, binary ones (``Ki`` ...) powers of 1024.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, Overflow
from typing import Final

from roofline.errors import UnitError

__all__ = [
    "format_count",
    "format_counted",
    "format_number",
    "format_percent",
    "format_si",
    "format_span",
    "format_time",
    "parse_quantity",
    "parse_time",
]

_DECIMAL: Final = ("", "k", "M", "G", "T", "P", "E")
_PREFIX: Final = {
    "f": Decimal("1e-15"),
    "p": Decimal("1e-12"),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "µ": Decimal("1e-6"),
    "μ": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{prefix: Decimal(1000) ** power for power, prefix in enumerate(_DECIMAL)},
    **{
        f"{prefix}i": Decimal(1024) ** power
        for power, prefix in enumerate(("K", "M", "G", "T", "P"), 1)
    },
}
_BASE: Final = ("FLOP/s", "FLOP/B", "FLOP", "element/s", "B/s", "B", "s", "Hz", "1")
_NUMBER: Final = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*$")


def parse_quantity(text: str, unit: str) -> float:
    """Return ``text`` in the base unit ``unit``.

    The unit must be written: a bare number, a bit where a byte is meant (``Gb/s``) and a unit
    of another dimension raise ``UnitError``.

    >>> parse_quantity("382 GB/s", "B/s")
    382000000000.0
    >>> parse_quantity("24 MiB", "B")
    25165824.0
    """
    if unit not in _BASE:
        raise UnitError(f"unknown base unit {unit!r}; known: {', '.join(_BASE)}")
    match = _NUMBER.match(text)
    if match is None:
        raise UnitError(f"not a number with a unit: {text!r} (expected for example '1.5 {unit}')")
    value, written = Decimal(match[1].replace("_", "")), match[2]
    if not written and unit != "1":
        raise UnitError(f"{text!r} has no unit; write it out, for example '{text.strip()} {unit}'")
    if not written.endswith(unit if unit != "1" else ""):
        raise UnitError(f"{text!r}: unit {written!r} is not a multiple of {unit}")
    prefix = written.removesuffix(unit) if unit != "1" else written
    scale = _PREFIX.get(prefix)
    if scale is None:
        raise UnitError(f"{text!r}: unknown prefix {prefix!r} before {unit}")
    try:
        found = float(value * scale)  # decimal until here: 33us is 3.3e-05, not its neighbour
    except Overflow:
        found = math.inf
    if not math.isfinite(found):
        raise UnitError(f"not a finite number: {text!r}")
    return found


def parse_time(text: str) -> float:
    """Return a time such as ``33us``, ``1.2 ms`` or ``2s`` in seconds.

    >>> parse_time("33us")
    3.3e-05
    """
    return parse_quantity(text, "s")


def format_si(value: float | None, unit: str, *, digits: int = 3) -> str:
    """Return ``value`` with a decimal prefix, ``digits`` significant digits, and its unit.

    ``None`` and NaN read ``unknown``: unknown is not zero.

    >>> format_si(78.6432e12, "FLOP/s"), format_si(0.0, "B"), format_si(None, "s")
    ('78.6 TFLOP/s', '0 B', 'unknown')
    """
    if value is None or math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}unlimited"
    if value == 0:
        return f"0 {unit}".rstrip()
    small = ("", "m", "µ", "n", "p", "f")
    power = math.floor(math.log10(abs(value)) / 3 + 1e-12)
    power = max(-(len(small) - 1), min(power, len(_DECIMAL) - 1))
    scaled = value / 1000.0**power
    # 999.96 rounds to 1000: move to the next prefix before it is printed
    if abs(float(f"{scaled:.{digits}g}")) >= 1000 and power < len(_DECIMAL) - 1:
        power += 1
        scaled = value / 1000.0**power
    prefix = _DECIMAL[power] if power >= 0 else small[-power]
    places = max(0, digits - 1 - math.floor(math.log10(abs(scaled)))) if scaled else 0
    number = f"{scaled:.{min(places, digits + 1)}f}"
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return f"{number} {prefix}{unit}".rstrip()


def format_time(seconds: float | None, *, digits: int = 3) -> str:
    """Return a time in seconds with a prefix that reads well.

    >>> format_time(3.755e-4)
    '376 µs'
    """
    return format_si(seconds, "s", digits=digits)


def format_span(low: float, high: float, unit: str = "s", *, digits: int = 3) -> str:
    """Return a range; a unit that both ends share is written once, and equal ends are one value.

    >>> format_span(2.41e-5, 4.07e-5), format_span(5e-7, 2e-6), format_span(1e-6, 1e-6)
    ('24.1 to 40.7 µs', '500 ns to 2 µs', '1 µs')
    """
    first, last = (format_si(value, unit, digits=digits) for value in (low, high))
    if first == last:
        return last
    number, _, written = first.partition(" ")
    return f"{number if written == last.partition(' ')[2] else first} to {last}"


def format_number(value: float | None, *, digits: int = 3) -> str:
    """Return a number with ``digits`` significant digits and no exponent; whole digits all stay.

    >>> format_number(161.7, digits=2), format_number(0.28249), format_number(2e-6)
    ('162', '0.282', '0.000002')
    """
    if value is None or math.isnan(value):
        return "unknown"
    if math.isinf(value) or value == 0:
        return f"{value:g}"
    if abs(value) < 1e-9:
        return f"{value:.{digits}g}"
    rounded = float(f"{value:.{digits}g}")
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    number = f"{value:,.{places}f}"
    return number.rstrip("0").rstrip(".") if "." in number else number


def format_percent(share: float | None, *, digits: int = 2, signed: bool = False) -> str:
    """Return a fraction in percent; a positive one below a millionth only says that it is.

    ``signed`` writes the sign of a change that is no loss, too.

    >>> format_percent(0.05341), format_percent(0.9996), format_percent(1.004, digits=3)
    ('5.3 %', '100 %', '100 %')
    >>> format_percent(1.386, signed=True), format_percent(-0.004, signed=True)
    ('+139 %', '-0.4 %')
    """
    if share is not None and 0 < share < 1e-6:
        return "<0.0001 %"
    number = format_number(None if share is None else share * 100, digits=digits)
    sign = "+" if signed and share is not None and share > 0 else ""
    return number if number == "unknown" else f"{sign}{number} %"


def format_counted(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is one, for example ``3 points``.

    >>> format_counted(1, "point"), format_counted(33840, "launch")
    ('1 point', '33,840 launches')
    """
    plural = noun if count == 1 else f"{noun}es" if noun.endswith(("ch", "s", "x")) else f"{noun}s"
    return f"{format_count(count)} {plural}"


def format_count(value: float | None) -> str:
    """Return a whole count with thousands separators, for example ``33,840``.

    >>> format_count(33840)
    '33,840'
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "unknown"
    return f"{value:,.0f}"
