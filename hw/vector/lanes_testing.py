"""Test support: beats for the lanes, and what golden makes of them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth import Value
from amaranth.lib import wiring
from amaranth.sim import Simulator

from fanweave.golden.isa.riscv_encoding import InstructionKind, Width
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.payloads import operand_beat, result_beat
from fanweave.hw.vector.unit_testing import GoldenVector, encode

__all__ = ["BeatMaker", "Case", "differences", "run_beats"]

#: Registers of the operands; a double group fits.
_VS1, _VS2, _VD = 8, 16, 24
_WIDTHS = {Width.SEW: 1.0, Width.DOUBLE: 2.0, Width.HALF: 0.5, Width.QUARTER: 0.25}
#: Numbers that are treated in their own ways, without sign.
_SPECIAL = {
    16: (0, 1, 2, 0x3FF, 0x400, 0x401, 0x3BFF, 0x3C00, 0x3C01, 0x3E00, 0x3800, 0x37FF, 0x7BFF,
         0x7C00, 0x7C01, 0x7DFF, 0x7E00, 0x7E55, 0x5BF8, 0x5C00, 0x77FF, 0x7800, 0x57F0),
    32: (0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000,
         0x3F000000, 0x3EFFFFFF, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FC12345,
         0x4F000000, 0x4EFFFFFF, 0x4F800000, 0x38800000, 0x387FE000, 0x387FF000, 0x477FE000,
         0x477FEFFF, 0x477FF000, 0x33000000, 0x33000001, 0x33800000, 0x46FFFE00, 0x47000000),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A beat, and what golden makes of it.

    Attributes
    ----------
    row : InstructionKind
    beat : dict of str to int
        Fields of `operand_beat`.
    width : int
        Bits of an element of the result; 1 for a mask.
    results : dict of int to int
        Element -> result, of active elements.
    flags, saturated : int
    """

    row: InstructionKind
    beat: dict[str, int]
    width: int
    results: dict[int, int]
    flags: int
    saturated: int


class BeatMaker:
    """Random beats of rows of golden's tables, and what golden's core makes of them.

    Parameters
    ----------
    config : VectorConfig
    seed : int
    """

    def __init__(self, config: VectorConfig, seed: int) -> None:
        self.config = config
        self.golden = GoldenVector(config)
        self.random = random.Random(seed)
        self._slots = 0

    def make(self, row: InstructionKind, operation: int, sew: int) -> Case:
        """A beat of an instruction for elements of ``sew`` bits; the core must not refuse it."""
        shape, golden, draw = row.vector, self.golden, self.random
        assert shape is not None
        widths = {
            name: int(sew * _WIDTHS.get(width, 0)) if width is not None else 0
            for name, width in (("vd", shape.vd), ("vs2", shape.vs2), ("vs1", shape.vs1))
        }
        # A scalar is an element of SEW; a mask has the elements of its sources.
        widths["vs1"] = widths["vs1"] or sew
        elements = self.config.word_bits // max(widths.values())
        golden.vector.bytes[:] = np.frombuffer(
            draw.randbytes(golden.vector.bytes.shape[0]), np.uint8
        )
        vl = draw.choice((elements, elements, draw.randrange(elements + 1)))
        golden.shape(sew, 8, vl, draw.choice((0, 0, draw.randrange(elements))))
        rounding = draw.randrange(5 if shape.floating else 4)
        golden.hart.csrs.write("fcsr", rounding << 5 if shape.floating else 0)
        golden.vector.vxrm, golden.vector.vxsat = 0 if shape.floating else rounding, 0
        self._fill(widths, elements, shape.floating)
        scalar = "vs1" not in row.fields and self._scalar(row, sew)
        words = {name: self._word(number, widths[name], elements)
                 for name, number in (("vs1", _VS1), ("vs2", _VS2), ("vd", _VD))}  # fmt: skip
        masked = "vm" in row.fields and draw.random() < 0.6
        carry = golden.vector.mask_bits(0, elements).copy()
        fields = {"vd": _VD, "vs2": _VS2, "vs1": _VS1, "vm": int(not masked), "rs1": 5, "fs1": 5}
        if scalar is not False:
            immediate, value = scalar
            fields |= immediate
            words["vs1"] = sum((value & (1 << sew) - 1) << sew * k for k in range(elements))
        first = golden.vector.vstart
        active = [k for k in range(first, vl) if not masked or carry[k]]
        trap = golden.run(encode(row, fields))
        assert trap is None, row.name
        self._slots = (self._slots + 1) % self.config.slots
        beat = {
            "operation": operation,
            "sew": (sew // 8).bit_length() - 1,
            **words,
            "active": sum(1 << k for k in active),
            "carry": sum(int(bit) << k for k, bit in enumerate(carry)),
            "rounding": rounding,
            "last": draw.randrange(2),
            "slot": self._slots,
        }
        if widths["vd"]:
            out = golden.vector.group(_VD, widths["vd"], elements)
        else:
            out = golden.vector.mask_bits(_VD, elements)
        results = {k: int(out[k]) for k in active}
        flags, saturated = golden.hart.fflags, golden.vector.vxsat
        return Case(row, beat, widths["vd"] or 1, results, int(flags), int(saturated))

    def _word(self, register: int, width: int, elements: int) -> int:
        """An operand, as it stands in a beat; bits that mean nothing are random."""
        word = self.random.getrandbits(self.config.word_bits)
        if not width:
            return word
        bits = width * elements
        values = self.golden.vector.group(register, width, elements)
        return word >> bits << bits | int.from_bytes(values.tobytes(), "little")

    def _scalar(self, row: InstructionKind, sew: int) -> tuple[dict[str, int], int]:
        """Fields of a scalar operand, and its value."""
        hart, draw = self.golden.hart, self.random
        if "fs1" in row.fields:
            value = self._number(sew)
            hart.f[5] = value | 0xFFFF0000 if sew == 16 else value
            return {}, value
        if "rs1" in row.fields:
            value = self._integer(32) if draw.random() < 0.5 else self._integer(sew)
            hart.x[5] = value
            return {}, value
        for name, least, most in (("simm", -16, 15), ("uimm", 0, 31)):
            if name in row.fields:
                value = draw.randint(least, most)
                return {name: value}, value
        return {}, 0

    def _fill(self, widths: dict[str, int], elements: int, floating: bool) -> None:
        """Operands that meet special cases, in part equal or close to each other."""
        draw, vector = self.random, self.golden.vector
        for name, register in (("vs1", _VS1), ("vs2", _VS2), ("vd", _VD)):
            width = widths[name]
            if not width:
                continue
            group = vector.group(register, width, elements)
            for k in range(elements):
                numeric = floating and width > 8 and draw.random() < 0.9
                group[k] = self._number(width) if numeric else self._integer(width)
        close = draw.random() < 0.3
        if close and widths["vs1"] == widths["vs2"]:
            a = vector.group(_VS1, widths["vs1"], elements)
            b = vector.group(_VS2, widths["vs2"], elements)
            for k in range(elements):
                flip = draw.choice((0, 1, 1 << widths["vs1"] - 1))
                b[k] = int(a[k]) ^ flip

    def _number(self, width: int) -> int:
        draw = self.random
        fraction_bits, bias = (10, 15) if width == 16 else (23, 127)
        kind = draw.randrange(10)
        if kind < 3:
            bits = draw.choice(_SPECIAL[width])
        elif kind < 5:
            bits = draw.getrandbits(width - 1)
        else:
            near = bias + draw.choice((0, 0, draw.randint(-12, 12), draw.randint(-bias, bias)))
            fraction = draw.choice((draw.getrandbits(fraction_bits), 0, 1, -1, 1 << 6, 1 << 3))
            bits = near << fraction_bits | fraction & (1 << fraction_bits) - 1
        return bits | draw.getrandbits(1) << width - 1

    def _integer(self, width: int) -> int:
        draw, top = self.random, 1 << width - 1
        edges = (0, 1, top - 1, top, top + 1, 2 * top - 1, 2, 3)
        few = draw.getrandbits(draw.randrange(1, width + 1))
        return draw.choice((draw.choice(edges), draw.getrandbits(width), few, -few % (2 * top)))


def differences(case: Case, result: dict[str, int]) -> list[str]:
    """What of a result beat is not as golden has it; in words."""
    found = []
    for name in ("last", "slot"):
        if result[name] != case.beat[name]:
            found.append(f"{name} is {result[name]}, expected {case.beat[name]}")
    for k, right in case.results.items():
        got = result["bits"] >> k & 1
        if case.width > 1:
            got = result["value"] >> case.width * k & (1 << case.width) - 1
        if got != right:
            found.append(f"element {k} is {got:#x}, expected {right:#x}")
    for name, right in (("flags", case.flags), ("saturated", case.saturated)):
        if result[name] != right:
            found.append(f"{name} {result[name]}, expected {right}")
    if found:
        found.insert(0, f"{case.row.name}: " + ", ".join(
            f"{name} {value:#x}" for name, value in case.beat.items()))  # fmt: skip
    return found


def run_beats(
    lanes: wiring.Component,
    config: VectorConfig,
    cases: Sequence[Case],
    *,
    seed: int = 0,
    pause: float = 0.2,
) -> tuple[list[dict[str, int]], int]:
    """Send beats through lanes; results in their order, and the cycles it took.

    ``pause`` is the chance that a beat is not offered, or a result not taken, in a cycle. A result
    that waits must stay as it is.
    """
    given, taken = operand_beat(config), result_beat(config)
    draw = random.Random(seed)
    results: list[dict[str, int]] = []
    cycles = 0

    async def drive(ctx: Any) -> None:
        for case in cases:
            while draw.random() < pause:
                await ctx.tick()
            ctx.set(Value.cast(lanes.i.payload), given.const(case.beat).as_value().value)
            ctx.set(lanes.i.valid, 1)
            await ctx.tick().until(lanes.i.ready)
            ctx.set(lanes.i.valid, 0)

    async def take(ctx: Any) -> None:
        nonlocal cycles
        waiting = None
        for _ in range(100 + 120 * len(cases)):
            ready = draw.random() >= pause
            ctx.set(lanes.o.ready, ready)
            _, _, valid, payload = await ctx.tick().sample(lanes.o.valid, lanes.o.payload)
            cycles += 1
            assert waiting is None or (valid and payload.as_bits() == waiting), "a result changed"
            waiting = payload.as_bits() if valid and not ready else None
            if valid and ready:
                results.append({name: int(payload[name]) for name, _ in taken})
                if len(results) == len(cases):
                    return

    simulator = Simulator(lanes)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.add_testbench(take)
    simulator.run()
    return results, cycles
