"""Hardware: one chip generation, seen from one logical NeuronCore, and the roofs that follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from roofline.dtypes import dtype_key
from roofline.engines import ELEMENT_ENGINES, VENDOR_NAMES, engine_key
from roofline.errors import HardwareModelError
from roofline.hardware.modes import ModeRule, fastest_rule
from roofline.hardware.numbers import Numbers
from roofline.hardware.roof import ROOF_KINDS, SCOPES, Roof, check_kind, roof_from
from roofline.quantity import Quantity
from roofline.units import format_percent

__all__ = ["ROOF_KINDS", "SCOPES", "Hardware", "Roof"]

_FLOP_PER_MAC: Final = 2


@dataclass(frozen=True, kw_only=True)
class Hardware(Numbers):
    """A chip generation as one logical core sees it.

    ``lnc`` is the number of physical cores in the logical core, ``working_cores`` how many of
    them do work, ``neighbours_busy`` whether other cores use the same HBM stack. ``values`` holds
    every number of the model file by its dotted path, ``modes`` the rules that say which
    instruction of Vector, Scalar or GpSimd runs at how many elements per lane and cycle.
    """

    chip: str
    generation: str
    instances: tuple[str, ...]
    cores_per_chip: int
    lnc: int
    lnc_choices: tuple[int, ...]
    working_cores: int
    neighbours_busy: bool = False

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
        check_kind(kind, ("theoretical", "measured", "vendor"))
        key = dtype if dtype == "sparse" else dtype_key(dtype)
        if key not in self.tensor_dtypes():
            known = ", ".join(self.tensor_dtypes())
            raise HardwareModelError(f"{self.name}: no Tensor rate for {dtype!r}; known: {known}")
        if kind == "measured":
            number = self.value(f"engines.tensor.measured.{key}.flop_per_s")
            core = number.value
        else:
            number = self.value(f"engines.tensor.rates.{key}.macs_per_pe_per_cycle")
            core = (
                self.value("engines.tensor.rows_count").value
                * self.value("engines.tensor.columns_count").value
                * _FLOP_PER_MAC
                * number.value
                * self.clock_hz("tensor")
            )
        one_core = kind == "vendor"
        return roof_from(
            number,
            core if one_core else core * self.working_cores,
            name=f"Tensor {key}" if kind == "theoretical" else f"Tensor {key} {kind}",
            resource="tensor",
            unit="FLOP/s",
            kind=kind,
            scope="core" if one_core else self.scope,
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
        return roof_from(
            self.value(rules[0].path),
            self.lane_rate(key) * mode * self.working_cores,
            name=f"{VENDOR_NAMES[key]} {mode}x",
            resource=key,
            unit="element/s",
            kind="theoretical",
            scope=self.scope,
            mode=mode,
        )

    @property
    def partitions(self) -> int:
        """SBUF partitions of all working cores, each with its lane in every element engine."""
        return round(self.value("memories.sbuf.partitions_count").value) * self.working_cores

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
            check_kind(kind)
        return tuple(roof for roof in self._memory_roofs() if kind in (None, roof.kind))

    def memory_ceiling(self, kind: str = "theoretical") -> Roof:
        """Return the memory roof that binds: the lower of the DMA path and the HBM stack.

        Where the stack has no figure of a kind its theoretical rate stands in; the vendor knows
        only its stack. Raises where the DMA path has no figure of the kind.
        """
        check_kind(kind)
        roofs = [roof for roof in self.memory_roofs(kind) if not roof.direction]
        stack = [roof for roof in roofs if roof.resource == "hbm"]
        path = [roof for roof in roofs if roof.resource == "dma"]
        if kind == "vendor":
            path = []
        elif not path:
            raise HardwareModelError(f"{self.name}: no {kind} rate of the DMA path")
        elif not stack:
            stack = [roof for roof in self.memory_roofs("theoretical") if roof.resource == "hbm"]
        if not stack:
            raise HardwareModelError(f"{self.name}: no {kind} rate of the HBM stack")
        return min(stack + path, key=lambda roof: roof.value)

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
            check_kind(kind)
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

    def chip_roofs(self) -> tuple[Roof, ...]:
        """Return the theoretical roofs of the whole chip: every core, stack and DMA engine at work.

        The vendor's printed chip totals (``chip.printed``) add other engines to the Tensor engine.
        """
        cores, view = self.cores_per_chip, self.working_cores
        dma = next(roof for roof in self.memory_roofs("theoretical") if roof.resource == "dma")
        per_core = [*(self.tensor_peak(key) for key in self.tensor_dtypes()), dma]
        stack = self.value("memories.hbm.stack.bandwidth_bytes_per_s")
        hbm = roof_from(
            stack,
            stack.value * self.value("memories.hbm.stacks_count").value,
            name="HBM stacks",
            resource="hbm",
            unit="B/s",
            kind="theoretical",
            scope="chip",
        )
        return (
            *(replace(roof, value=roof.value / view * cores, scope="chip") for roof in per_core),
            hbm,
        )

    def _memory_roofs(self) -> Iterator[Roof]:
        def hbm(number: Quantity, share: float, name: str, kind: str) -> Roof:
            return roof_from(
                number,
                number.value * share,
                name=name,
                resource="hbm",
                unit="B/s",
                kind=kind,
                scope=self.scope,
            )

        def dma(number: Quantity, per_core: float, name: str, kind: str, way: str = "") -> Roof:
            one_core = kind == "vendor"
            return roof_from(
                number,
                number.value * per_core * (1 if one_core else self.working_cores),
                name=name,
                resource="dma",
                unit="B/s",
                kind=kind,
                scope="core" if one_core else self.scope,
                direction=way,
            )

        share = self.stack_share
        name = "HBM stack" if share == 1 else f"HBM stack, {format_percent(share)} of it"
        yield hbm(
            self.value("memories.hbm.stack.bandwidth_bytes_per_s"), share, name, "theoretical"
        )
        on_stack = self.value("memories.hbm.cores_per_stack_count").value
        # measured with every core of the stack at work: it says nothing about fewer
        if (found := self._known("memories.hbm.measured")) and self.working_cores >= on_stack:
            yield hbm(found, 1, "HBM measured", "measured")
        if found := self._known("memories.hbm.vendor"):
            yield hbm(found, 1, "HBM vendor", "vendor")
        engines = self.value("dma.engines_count").value
        yield dma(self.value("dma.link_bytes_per_s"), engines, "DMA link", "theoretical")
        if found := self.values.get("dma.sustained.engine_bytes_per_s"):
            yield dma(found, engines, "DMA sustained", "sustained")
        for way in ("", "read", "write"):
            if found := self._known(f"dma.measured.{way or 'all'}"):
                yield dma(found, 1, f"DMA measured {way}".strip(), "measured", way)
        if found := self._known("dma.vendor"):
            yield dma(found, 1, "DMA vendor", "vendor")

    def _known(self, table: str) -> Quantity | None:
        return self.values.get(f"{table}.bandwidth_bytes_per_s")


def _element_engine(engine: str) -> str:
    key = engine_key(engine)
    if key not in ELEMENT_ENGINES:
        known = ", ".join(ELEMENT_ENGINES)
        raise HardwareModelError(f"{key} has no element rate; known: {known}")
    return key
