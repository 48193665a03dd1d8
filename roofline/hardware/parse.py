"""Turn a parsed model file into checked numbers with units and sources."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from roofline.dtypes import DTYPES
from roofline.engines import ELEMENT_ENGINES, ENGINES
from roofline.errors import HardwareModelError
from roofline.hardware.modes import OPERANDS, ModeRule
from roofline.hardware.schema import REQUIRED, SCHEMA_VERSION, TREES, UNITS, is_number_path, unit_of
from roofline.quantity import QUALITIES, Quantity

__all__ = ["Model", "parse_model"]

_CITED: Final = re.compile(r"@(\w+)")
_TEXT: Final = frozenset({"kind", "source", "note"})
_CHIP_TEXT: Final = frozenset({"chip", "core", "generation", "aliases"})
_CALIBRATED_TEXT: Final = frozenset({"data", "residual", "valid", "method"})
_SPARSE: Final = "sparse"
_CURVE: Final = ("partition_bytes", "relative_ratio")


@dataclass(frozen=True, kw_only=True)
class Model:
    """One model file, checked: its names, its numbers by path, and its mode rules."""

    name: str
    chip: str
    core: str
    generation: str
    aliases: tuple[str, ...]
    instances: tuple[str, ...]
    values: Mapping[str, Quantity] = field(repr=False)
    modes: tuple[ModeRule, ...] = field(repr=False)


def parse_model(data: Mapping[str, Any], file: str) -> Model:
    """Return the checked model of a parsed TOML document.

    ``file`` names it in errors. Raises ``HardwareModelError`` with the path of the first key that
    is unknown, missing, of the wrong type, or not a positive finite number.
    """
    return _Parser(data, file).model()


class _Parser:
    def __init__(self, data: Mapping[str, Any], file: str) -> None:
        self.data = data
        self.file = file
        self.values: dict[str, Quantity] = {}
        self.modes: list[ModeRule] = []
        self.sources: dict[str, str] = {}

    def fail(self, path: str, what: str) -> HardwareModelError:
        return HardwareModelError(f"{self.file}: {path}: {what}")

    def model(self) -> Model:
        version = self.data.get("schema_version")
        if version != SCHEMA_VERSION:
            raise self.fail("schema_version", f"expected {SCHEMA_VERSION}, found {version!r}")
        for key, text in self.table(self.data, "sources", required=False).items():
            self.sources[key] = self.string({key: text}, key, "sources")
        for key, value in self.data.items():
            if key in ("schema_version", "name", "sources"):
                continue
            if key not in TREES and key != "calibrated":
                known = ", ".join((*TREES, "calibrated", "name", "schema_version", "sources"))
                raise self.fail(key, f"unknown key; known: {known}")
            self.walk(value, key)
        for path in REQUIRED:
            if path not in self.values and f"{path}.0" not in self.values:
                raise self.fail(path, "missing")
        for engine in ELEMENT_ENGINES:
            if not any(rule.engine == engine for rule in self.modes):
                raise self.fail(f"engines.{engine}.modes", "missing")
        chip = self.table(self.data, "chip")
        instances = self.table(self.data, "instances", required=False)
        self.consistent(instances)
        return Model(
            name=self.string(self.data, "name", ""),
            chip=self.string(chip, "chip", "chip"),
            core=self.string(chip, "core", "chip"),
            generation=self.string(chip, "generation", "chip"),
            aliases=self.words(chip, "aliases", "chip"),
            instances=tuple(
                self.string(table, "name", f"instances.{key}") for key, table in instances.items()
            ),
            values=self.values,
            modes=tuple(self.modes),
        )

    def consistent(self, instances: Mapping[str, Any]) -> None:
        """Check what no single key can show."""
        for key in instances:
            if f"instances.{key}.chips_count" not in self.values:
                raise self.fail(f"instances.{key}.chips_count", "missing")
        choices = [self.values[path].value for path in self.listed("lnc.choices_count")]
        default = self.values["lnc.default_count"].value
        if default not in choices:
            raise self.fail("lnc.default_count", f"{default:g} is none of {choices}")
        curve = "dma.efficiency_curve"
        sizes, ratios = (self.listed(f"{curve}.{key}") for key in _CURVE)
        if len(sizes) != len(ratios):
            raise self.fail(curve, f"{len(sizes)} sizes and {len(ratios)} ratios")

    def listed(self, path: str) -> list[str]:
        return [key for key in self.values if key.startswith(f"{path}.")]

    def walk(self, node: Any, path: str) -> None:
        """Collect the numbers below one table."""
        if not isinstance(node, dict):
            raise self.fail(path, f"expected a table, found {node!r}")
        for key in sorted(_TEXT & node.keys()):
            self.string(node, key, path)
        numbers = {
            key: value for key, value in node.items() if key not in _TEXT and self.is_number(value)
        }
        if numbers:
            kind, _ = self.provenance(node, path)
            if path.startswith("calibrated."):
                self.fitted(node, kind, path)
        for key, value in node.items():
            here = f"{path}.{key}"
            if key in numbers:
                self.numbers(node, key, here)
            elif key in _TEXT or self.is_text(path, key):
                continue
            elif key == "modes" and path.startswith("engines."):
                self.mode_rules(value, path)
            elif isinstance(value, dict):
                self.walk(value, here)
            elif is_number_path(here):
                raise self.fail(here, f"expected a positive number, found {value!r}")
            else:
                raise self.fail(here, "unknown key")

    def fitted(self, node: Mapping[str, Any], kind: str, path: str) -> None:
        """Check that a fitted constant says on what, how well, and for what it holds."""
        if kind not in ("calibrated", "inferred"):  # inferred: carried over from another chip
            found = f"expected 'calibrated' or 'inferred', found {kind!r}"
            raise self.fail(f"{path}.kind", found)
        for key in ("data", "residual", "valid"):
            self.string(node, key, path)

    @staticmethod
    def is_number(value: Any) -> bool:
        if isinstance(value, dict):
            return "value" in value
        if isinstance(value, list):
            return bool(value) and all(_is_real(item) for item in value)
        return _is_real(value)

    @staticmethod
    def is_text(path: str, key: str) -> bool:
        return (
            (path == "chip" and key in _CHIP_TEXT)
            or (path.startswith("instances.") and key == "name")
            or (path.split(".")[0] == "calibrated" and key in _CALIBRATED_TEXT)
        )

    def numbers(self, node: dict[str, Any], key: str, path: str) -> None:
        if not is_number_path(path):
            raise self.fail(path, "unknown key")
        self.vocabulary(path)
        value = node[key]
        if isinstance(value, list):
            for index, item in enumerate(value):
                self.values[f"{path}.{index}"] = self.quantity({"value": item}, node, path)
            return
        self.values[path] = self.quantity(
            value if isinstance(value, dict) else {"value": value}, node, path
        )

    def vocabulary(self, path: str) -> None:
        """Check the names that stand where a rule has a ``*``."""
        words = path.split(".")
        if words[0] in ("engines", "instructions") and words[1] not in (*ENGINES, "any"):
            raise self.fail(path, f"unknown engine {words[1]!r}; known: {', '.join(ENGINES)}")
        if (
            words[:2] == ["engines", "tensor"]
            and words[2] in ("rates", "measured")
            and words[3] not in (*DTYPES, _SPARSE)
        ):
            known = ", ".join((*DTYPES, _SPARSE))
            raise self.fail(path, f"unknown dtype {words[3]!r}; known: {known}")
        if words[0] == "memories" and words[1] not in ("hbm", "sbuf", "psum"):
            raise self.fail(path, f"unknown memory {words[1]!r}; known: hbm, sbuf, psum")

    def quantity(self, number: dict[str, Any], table: dict[str, Any], path: str) -> Quantity:
        extra = set(number) - {"value", "low", "high", *_TEXT}
        if extra:
            raise self.fail(f"{path}.{min(extra)}", "unknown key")
        value = self.real(number["value"], path)
        low = self.real(number["low"], f"{path}.low") if "low" in number else None
        high = self.real(number["high"], f"{path}.high") if "high" in number else None
        if (low is not None and low > value) or (high is not None and high < value):
            raise self.fail(path, f"expected low <= value <= high, found {low}, {value}, {high}")
        unit = unit_of(path)
        if unit is None:
            raise self.fail(path, f"the key names no unit; known suffixes: {', '.join(UNITS)}")
        if path.endswith("_count") and value != int(value):
            raise self.fail(path, f"expected a whole number, found {value!r}")
        kind, source = self.provenance({**table, **number}, path)
        note = {**table, **number}.get("note")
        return Quantity(
            value=value,
            unit=unit,
            source=source,
            quality=kind,
            low=low,
            high=high,
            note=self.string({"note": note}, "note", path) if note is not None else "",
        )

    def real(self, value: Any, path: str) -> float:
        if not _is_real(value):
            raise self.fail(path, f"expected a positive number, found {value!r}")
        if not math.isfinite(value) or value <= 0:
            raise self.fail(path, f"expected a positive finite number, found {value!r}")
        return float(value)

    def provenance(self, table: Mapping[str, Any], path: str) -> tuple[str, str]:
        kind = self.string(table, "kind", path)
        if kind not in QUALITIES:
            raise self.fail(f"{path}.kind", f"unknown {kind!r}; known: {', '.join(QUALITIES)}")
        source = self.string(table, "source", path)
        for key in _CITED.findall(source):
            if key not in self.sources:
                raise self.fail(f"{path}.source", f"@{key} is not in [sources]")
        return kind, _CITED.sub(lambda cited: self.sources[cited[1]], source)

    def mode_rules(self, rules: Any, path: str) -> None:
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise self.fail(f"{path}.modes", f"expected an array of tables, found {rules!r}")
        for index, rule in enumerate(rules):
            here = f"{path}.modes.{index}"
            keys = {"elements_per_lane_per_cycle", "operations", "dtypes", "operands"}
            keys |= {"contiguous", "broadcast", *_TEXT}
            if extra := set(rule) - keys:
                raise self.fail(f"{here}.{min(extra)}", "unknown key")
            if missing := keys - {"note"} - set(rule):
                raise self.fail(f"{here}.{min(missing)}", "missing")
            number = f"{here}.elements_per_lane_per_cycle"
            self.values[number] = self.quantity(
                {"value": rule["elements_per_lane_per_cycle"]}, rule, number
            )
            for flag in ("contiguous", "broadcast"):
                if not isinstance(rule[flag], bool):
                    raise self.fail(f"{here}.{flag}", f"expected true or false: {rule[flag]!r}")
            names = {
                key: self.words(rule, key, here) for key in ("operations", "dtypes", "operands")
            }
            for key, known in (("dtypes", (*DTYPES, "*")), ("operands", OPERANDS)):
                for name in names[key]:
                    if name not in known:
                        raise self.fail(f"{here}.{key}", f"{name!r}; known: {', '.join(known)}")
            self.modes.append(
                ModeRule(
                    engine=path.split(".")[1],
                    path=number,
                    elements_per_lane_per_cycle=self.values[number].value,
                    operations=names["operations"],
                    dtypes=names["dtypes"],
                    operands=names["operands"],
                    contiguous=rule["contiguous"],
                    broadcast=rule["broadcast"],
                    quality=self.values[number].quality,
                    source=self.values[number].source,
                    note=self.values[number].note,
                )
            )

    def table(self, node: Mapping[str, Any], key: str, *, required: bool = True) -> dict[str, Any]:
        value = node.get(key)
        if value is None and not required:
            return {}
        if not isinstance(value, dict):
            raise self.fail(key, "missing" if value is None else f"expected a table: {value!r}")
        return value

    def string(self, node: Mapping[str, Any], key: str, path: str) -> str:
        value = node.get(key)
        where = f"{path}.{key}".lstrip(".")
        if value is None:
            raise self.fail(where, "missing")
        if not isinstance(value, str) or not value.strip():
            raise self.fail(where, f"expected text, found {value!r}")
        return value

    def words(self, node: Mapping[str, Any], key: str, path: str) -> tuple[str, ...]:
        value = node.get(key)
        if value is None:
            raise self.fail(f"{path}.{key}", "missing")
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self.fail(f"{path}.{key}", f"expected a list of names, found {value!r}")
        return tuple(value)


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
