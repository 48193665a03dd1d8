"""Hardware: one chip generation, seen from one logical NeuronCore, and the roofs that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from roofline.dtypes import dtype_key
from roofline.engines import ELEMENT_ENGINES, VENDOR_NAMES, engine_key
from roofline.errors import HardwareModelError
from roofline.hardware.modes import ModeRule, fastest_rule
from roofline.quantity import Quantity

__all__ = ["ROOF_KINDS", "SCOPES", "Hardware", "Roof"]

ROOF_KINDS: Final = ("theoretical", "sustained", "measured", "vendor")
"""Array or lanes x clock and link rates; documented; from traces; what the vendor divides by."""

SCOPES: Final = ("core", "logical core", "chip")

_FLOP_PER_MAC: Final = 2
_DIRECTIONS: Final = {"all": "", "read": "read", "write": "write"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """One ceiling.

    ``resource`` is an engine key, ``hbm`` or ``dma``; ``value`` is in ``unit`` (``FLOP/s``,
    ``element/s`` for element-passes, ``B/s``) for the given ``scope``; ``low`` and ``high`` are
    the documented or measured spread. ``dtype`` and ``mode`` (1, 2, 4 elements per lane and cycle)
    say which work it holds for, ``direction`` (``read``, ``write``) which way bytes go.
    """

    name: str
    resource: str
    value: float
    unit: str
    kind: str
    scope: str
    source: str
    quality: str
    dtype: str = ""
    mode: int = 1
    direction: str = ""
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """A chip generation as one logical core sees it.

    ``lnc`` is the number of physical cores in the logical core, ``working_cores`` how many of
    them do work, ``neighbours_busy`` whether other cores use the same HBM stack. ``values`` holds
    every number of the model file by its dotted path, ``modes`` the rules that say which
    instruction of Vector, Scalar or GpSimd runs at how many elements per lane and cycle.
    """

    name: str
    chip: str
    generation: str
    instances: tuple[str, ...]
    cores_per_chip: int
    lnc: int
    lnc_choices: tuple[int, ...]
    working_cores: int
    neighbours_busy: bool = False
    values: Mapping[str, Quantity] = field(default_factory=dict, repr=False)
    modes: tuple[ModeRule, ...] = field(default=(), repr=False)
    path: str = ""

    # ------------------------------------------------------------------ numbers of the file

    def value(self, path: str) -> Quantity:
        """Return the number at a dotted path of the model file, per physical core as written."""
        found = self.values.get(path)
        if found is None:
            raise HardwareModelError(
                f"{self.name}: no value {path!r} in {self.path or 'the model'}"
            )
        return found

    def series(self, path: str) -> tuple[float, ...]:
        """Return a list of numbers of the model file, such as a curve."""
        found: list[float] = []
        while (number := self.values.get(f"{path}.{len(found)}")) is not None:
            found.append(number.value)
        if not found:
            raise HardwareModelError(f"{self.name}: no list {path!r} in {self.path or 'the model'}")
        return tuple(found)

    def paths(self, prefix: str = "") -> tuple[str, ...]:
        """Return the paths of every number, or of those below ``prefix``, in file order."""
        return tuple(
            path for path in self.values if not prefix or f"{path}.".startswith(f"{prefix}.")
        )

    def replace_value(self, path: str, value: float) -> Hardware:
        """Return the same hardware with one number changed: what if it were so."""
        old = self.value(path)
        if not 0 < value < float("inf"):
            raise HardwareModelError(f"{self.name}: {path}: expected a positive number: {value!r}")
        new = replace(
            old,
            value=float(value),
            quality="inferred",
            source=f"what if; the model has {old.value:g}",
            low=None,
            high=None,
        )
        modes = tuple(
            replace(rule, elements_per_lane_per_cycle=float(value)) if rule.path == path else rule
            for rule in self.modes
        )
        return replace(self, values={**self.values, path: new}, modes=modes)

    def clock_hz(self, engine: str) -> float:
        """Return the clock of an engine in Hz."""
        return self.value(f"engines.{engine_key(engine)}.clock_hz").value

    # ------------------------------------------------------------------ engines

    @property
    def scope(self) -> str:
        """What the roofs of this view stand for: one ``core`` or a ``logical core``."""
        return "core" if self.lnc == 1 else "logical core"

    def tensor_dtypes(self) -> tuple[str, ...]:
        """Return the dtypes the Tensor engine has a rate for, and ``sparse`` where it has one."""
        return tuple(path.split(".")[3] for path in self.paths("engines.tensor.rates"))

    def tensor_peak(self, dtype: str, kind: str = "theoretical") -> Roof:
        """Return the Tensor roof in FLOP/s over all working cores.

        Theoretical: rows x columns x 2 x MAC per cycle of the dtype x clock. ``vendor`` is the
        same for one bf16 core, ``measured`` the best published matmul. ``sparse`` counts dense
        FLOP. Raises for a dtype or kind the model does not have.
        """
        key = dtype if dtype == "sparse" else dtype_key(dtype)
        if kind == "measured":
            best = self.value(f"engines.tensor.measured.{key}.flop_per_s")
            return self._roof(
                best,
                best.value * self.working_cores,
                f"Tensor {key} measured",
                kind,
                resource="tensor",
                unit="FLOP/s",
                dtype=key,
            )
        _check_kind(kind, ("theoretical", "vendor", "measured"))
        if key not in self.tensor_dtypes():
            known = ", ".join(self.tensor_dtypes())
            raise HardwareModelError(f"{self.name}: no Tensor rate for {dtype!r}; known: {known}")
        rate = self.value(f"engines.tensor.rates.{key}.macs_per_pe_per_cycle")
        core = (
            self.value("engines.tensor.rows_count").value
            * self.value("engines.tensor.columns_count").value
            * _FLOP_PER_MAC
            * rate.value
            * self.clock_hz("tensor")
        )
        if kind == "vendor":
            return replace(
                self._roof(
                    rate,
                    core,
                    f"Tensor {key} vendor",
                    kind,
                    resource="tensor",
                    unit="FLOP/s",
                    dtype=key,
                ),
                scope="core",
            )
        return self._roof(
            rate,
            core * self.working_cores,
            f"Tensor {key}",
            kind,
            resource="tensor",
            unit="FLOP/s",
            dtype=key,
        )

    def element_modes(self, engine: str) -> tuple[int, ...]:
        """Return the whole elements per lane and cycle that rules of an engine give."""
        key = _element_engine(engine)
        found = {rule.elements_per_lane_per_cycle for rule in self.modes if rule.engine == key}
        return tuple(sorted(int(rate) for rate in found if rate >= 1))

    def element_rate(self, engine: str, mode: int = 1) -> Roof:
        """Return the roof of Vector, Scalar or GpSimd in element-passes/s: lanes x clock x mode.

        Over all working cores. Raises for a mode that no rule of the engine gives.
        """
        key = _element_engine(engine)
        rules = [
            rule
            for rule in self.modes
            if rule.engine == key and rule.elements_per_lane_per_cycle == mode
        ]
        if not rules:
            known = ", ".join(f"{known}x" for known in self.element_modes(key))
            raise HardwareModelError(f"{self.name}: {key} has no {mode}x mode; known: {known}")
        number = self.value(rules[0].path)
        value = self.lane_rate(key) * mode * self.working_cores
        roof = self._roof(
            number,
            value,
            f"{VENDOR_NAMES[key]} {mode}x",
            "theoretical",
            resource=key,
            unit="element/s",
        )
        return replace(roof, mode=mode)

    def lane_rate(self, engine: str) -> float:
        """Return lanes x clock of one physical core, in element-passes/s."""
        key = _element_engine(engine)
        return self.value(f"engines.{key}.lanes_count").value * self.clock_hz(key)

    def element_mode(
        self,
        engine: str,
        operation: str,
        *dtypes: str,
        operands: str = "psum",
        contiguous: bool = False,
        broadcast: bool = True,
    ) -> ModeRule:
        """Return the rule an instruction runs under, fastest first; the defaults assume the least.

        ``operation`` is a vendor instruction such as ``tensor_copy``; ``dtypes`` are those of all
        its operands. Below one element per lane and cycle the instruction is slower than a pass.
        """
        key = _element_engine(engine)
        rule = fastest_rule(
            tuple(rule for rule in self.modes if rule.engine == key),
            operation,
            tuple(dtype_key(dtype) for dtype in dtypes),
            operands=operands,
            contiguous=contiguous,
            broadcast=broadcast,
        )
        if rule is None:
            raise HardwareModelError(f"{self.name}: no mode of {key} covers {operation!r}")
        return rule

    def best_element_rate(self, dtype: str, operation: str | None = None) -> float:
        """Return element-passes/s of Vector, Scalar and GpSimd together, each in its best mode.

        Over all working cores, for lower bounds: no mix of instructions on this dtype is faster.
        Naming the ``operation`` keeps modes of other instructions out.
        """
        key, total = dtype_key(dtype), 0.0
        for engine in ELEMENT_ENGINES:
            rules = [
                rule
                for rule in self.modes
                if rule.engine == engine and ("*" in rule.dtypes or key in rule.dtypes)
            ]
            if operation is not None:
                named = [rule for rule in rules if operation in rule.operations]
                rules = named or [rule for rule in rules if "*" in rule.operations]
            best = max((rule.elements_per_lane_per_cycle for rule in rules), default=0.0)
            total += self.lane_rate(engine) * best
        return total * self.working_cores

    # ------------------------------------------------------------------ memory

    @property
    def stack_share(self) -> float:
        """The part of one HBM stack that the working cores get.

        All of it, unless cores outside the logical core load the same stack.
        """
        others = int(self.value("memories.hbm.cores_per_stack_count").value) - self.lnc
        if not self.neighbours_busy or others <= 0:
            return 1.0
        return self.working_cores / (self.working_cores + others)

    def memory_roofs(self, kind: str | None = None) -> tuple[Roof, ...]:
        """Return the HBM and DMA roofs in B/s over all working cores, of one kind or of all.

        DMA scales with the working cores; a stack does not, and is shared with busy neighbours.
        """
        if kind is not None:
            _check_kind(kind, ROOF_KINDS)
        roofs = [*self._hbm_roofs(), *self._dma_roofs()]
        return tuple(roof for roof in roofs if kind in (None, roof.kind))

    def memory_ceiling(self, kind: str = "theoretical") -> Roof:
        """Return the memory roof that binds: the lower of the DMA path and the HBM stack.

        Where the stack has no figure of a kind its theoretical rate stands in; the vendor knows
        only its stack. Raises where the DMA path has no figure of the kind.
        """
        _check_kind(kind, ROOF_KINDS)
        roofs = [roof for roof in self.memory_roofs(kind) if not roof.direction]
        if kind == "vendor":
            if not roofs:
                raise HardwareModelError(f"{self.name}: no vendor figure for the HBM stack")
            return roofs[0]
        if not any(roof.resource == "dma" for roof in roofs):
            raise HardwareModelError(f"{self.name}: no {kind} rate of the DMA path")
        if not any(roof.resource == "hbm" for roof in roofs):
            roofs += [roof for roof in self.memory_roofs("theoretical") if roof.resource == "hbm"]
        return min(roofs, key=lambda roof: roof.value)

    def ridge(self, dtype: str, kind: str = "theoretical") -> float:
        """Return the intensity in FLOP/B where the Tensor peak meets the ceiling of a kind.

        The Tensor peak is the theoretical one; ``kind`` names the memory ceiling.
        """
        return self.tensor_peak(dtype).value / self.memory_ceiling(kind).value

    def vendor_ridge(self) -> float:
        """Return the vendor's ridge in FLOP/B: one core's bf16 peak over one whole stack."""
        return self.tensor_peak("bf16", "vendor").value / self.memory_ceiling("vendor").value

    def roofs(
        self, kind: str | None = None, resource: str | None = None, dtype: str | None = None
    ) -> tuple[Roof, ...]:
        """Return every roof, or those of a kind, resource or Tensor dtype.

        A ``dtype`` keeps the Tensor roofs of that dtype and every roof that depends on none.
        """
        found: list[Roof] = [self.tensor_peak(key) for key in self.tensor_dtypes()]
        found += [
            self.tensor_peak(path.split(".")[3], "measured")
            for path in self.paths("engines.tensor.measured")
        ]
        found.append(self.tensor_peak("bf16", "vendor"))
        found += [
            self.element_rate(engine, mode)
            for engine in ELEMENT_ENGINES
            for mode in self.element_modes(engine)
        ]
        found += self.memory_roofs()
        if kind is not None:
            _check_kind(kind, ROOF_KINDS)
        if resource is not None:
            resource = resource if resource == "hbm" else engine_key(resource)
        wanted = dtype if dtype in (None, "sparse") else dtype_key(str(dtype))
        return tuple(
            roof
            for roof in found
            if kind in (None, roof.kind)
            and resource in (None, roof.resource)
            and (wanted is None or roof.dtype in ("", wanted))
        )

    def _dma_roofs(self) -> list[Roof]:
        engines = self.value("dma.engines_count").value
        link = self.value("dma.link_bytes_per_s")
        cores = self.working_cores
        roofs = [
            self._roof(
                link,
                engines * link.value * cores,
                "DMA link",
                "theoretical",
                resource="dma",
                unit="B/s",
            )
        ]
        if (number := self.values.get("dma.sustained.engine_bytes_per_s")) is not None:
            roofs.append(
                self._roof(
                    number,
                    engines * number.value * cores,
                    "DMA sustained",
                    "sustained",
                    resource="dma",
                    unit="B/s",
                )
            )
        for name, direction in _DIRECTIONS.items():
            number = self.values.get(f"dma.measured.{name}.bandwidth_bytes_per_s")
            if number is not None:
                label = f"DMA measured {direction}".strip()
                roof = self._roof(
                    number, number.value * cores, label, "measured", resource="dma", unit="B/s"
                )
                roofs.append(replace(roof, direction=direction))
        return roofs

    def _hbm_roofs(self) -> list[Roof]:
        stack = self.value("memories.hbm.stack.bandwidth_bytes_per_s")
        share = self.stack_share
        name = "HBM stack" if share == 1 else f"HBM stack, share {share:.3g}"
        roofs = [
            self._roof(stack, stack.value * share, name, "theoretical", resource="hbm", unit="B/s")
        ]
        measured = self.values.get("memories.hbm.measured.bandwidth_bytes_per_s")
        on_stack = self.value("memories.hbm.cores_per_stack_count").value
        # measured with every core of the stack at work: it says nothing about fewer
        if measured is not None and self.working_cores >= on_stack:
            roofs.append(
                self._roof(
                    measured, measured.value, "HBM measured", "measured", resource="hbm", unit="B/s"
                )
            )
        vendor = self.values.get("memories.hbm.vendor.bandwidth_bytes_per_s")
        if vendor is not None:
            roofs.append(
                self._roof(vendor, vendor.value, "HBM vendor", "vendor", resource="hbm", unit="B/s")
            )
        return roofs

    def _roof(
        self,
        number: Quantity,
        value: float,
        name: str,
        kind: str,
        *,
        resource: str,
        unit: str,
        dtype: str = "",
    ) -> Roof:
        """Build a roof from the number it rests on; its spread scales with the value."""
        scale = value / number.value
        return Roof(
            name=name,
            resource=resource,
            value=value,
            unit=unit,
            kind=kind,
            scope=self.scope,
            source=number.source,
            quality=number.quality if unit == number.unit and scale == 1 else _derived(number),
            dtype=dtype,
            low=None if number.low is None else number.low * scale,
            high=None if number.high is None else number.high * scale,
            note=number.note,
        )


def _derived(number: Quantity) -> str:
    """Arithmetic on a documented number is derived; a weaker number stays what it is."""
    return "derived" if number.quality == "documented" else number.quality


def _element_engine(engine: str) -> str:
    key = engine_key(engine)
    if key not in ELEMENT_ENGINES:
        known = ", ".join(ELEMENT_ENGINES)
        raise HardwareModelError(f"{key} has no element rate; known: {known}")
    return key


def _check_kind(kind: str, known: tuple[str, ...]) -> None:
    if kind not in known:
        raise HardwareModelError(f"no roof of kind {kind!r}; known: {', '.join(known)}")
