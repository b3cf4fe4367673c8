"""Test support: a unit of register groups behind a model of registers and memory, and golden."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fanweave.golden.isa.cluster import REGIONS, RegionName
from fanweave.golden.isa.riscv import kind_of
from fanweave.golden.isa.riscv_encoding import InstructionKind
from fanweave.golden.riscv.hart import Hart
from fanweave.golden.riscv.memory import Memory
from fanweave.golden.riscv.trap import TrapError
from fanweave.golden.riscv.vector import vector_closure
from fanweave.hw.vector.config import VectorConfig

__all__ = ["GoldenVector", "MemoryModel", "RegisterModel", "draw_shape", "encode", "lmul_code"]

#: mstatus with both units on.
_BOTH_ON = 0x6600


def lmul_code(lmul8: int) -> int:
    """vtype's code of LMUL."""
    return (lmul8.bit_length() - 4) & 7


def draw_shape(generator: random.Random) -> tuple[int, int]:
    """A SEW and eight times an LMUL that go together."""
    while True:
        sew, lmul8 = generator.choice([8, 16, 32]), generator.choice([1, 2, 4, 8, 16, 32, 64])
        if sew * 8 <= lmul8 * 32:
            return sew, lmul8


def encode(row: InstructionKind, values: dict[str, int]) -> int:
    """An instruction whose other fields are as usual."""
    return row.encode(**{name: values.get(name, 1) for name in row.fields})


class GoldenVector:
    """A golden core that executes single instructions.

    Parameters
    ----------
    config : VectorConfig

    Attributes
    ----------
    hart, memory, vector
        Its parts.
    """

    def __init__(self, config: VectorConfig) -> None:
        self.memory = Memory()
        self.hart = Hart(self.memory, config=config.golden)
        self.hart.csrs.write("mstatus", _BOTH_ON)
        self.vector = self.hart.vector

    def part(self, name: RegionName) -> np.ndarray:
        """Bytes of a memory."""
        return self.memory.part(name).data

    def shape(self, sew: int, lmul8: int, vl: int, vstart: int) -> None:
        """Set vtype, ``vl`` and ``vstart``."""
        self.vector.set_vtype((sew // 8).bit_length() - 1 << 3 | lmul_code(lmul8))
        self.vector.vl, self.vector.vstart = vl, vstart

    def run(self, word: int) -> TrapError | None:
        """Execute an instruction; returns the trap that it raised."""
        kind = kind_of(word)
        assert kind is not None
        try:
            vector_closure(self.hart, kind, kind.decode(word))()
        except TrapError as trap:
            return trap
        return None


class RegisterModel:
    """A register file whose ports are not always ready.

    Parameters
    ----------
    config : VectorConfig
    reads, writes : sequences of ports
        From the unit's side.
    goes : callable
        Whether something happens in this cycle.

    Attributes
    ----------
    bytes : ndarray, uint8
        All registers, one behind the other.
    written : int
        Words that have been written.
    """

    def __init__(
        self,
        config: VectorConfig,
        reads: Sequence[Any],
        writes: Sequence[Any],
        goes: Callable[[], bool],
    ) -> None:
        self.width = config.word_bytes
        self.bytes = np.zeros(4 * config.vlen, np.uint8)
        self.written = 0
        self._reads, self._writes, self._goes = reads, writes, goes
        self._register = config.vlen // 8

    def mask(self) -> int:
        """v0."""
        return int.from_bytes(self.bytes[: self._register].tobytes(), "little")

    def before_edge(self, ctx: Any) -> None:
        """Set what is ready."""
        for port in (*self._reads, *self._writes):
            ctx.set(port.ready, self._goes())

    def sample(self, ctx: Any) -> list[tuple[Any, int]]:
        """Do what is transferred at the edge; returns values to show after it."""
        shown = []
        for port in self._reads:
            if ctx.get(port.valid) and ctx.get(port.ready):
                at = ctx.get(port.address) * self.width
                shown.append(
                    (
                        port.value,
                        int.from_bytes(self.bytes[at : at + self.width].tobytes(), "little"),
                    )
                )
        for port in self._writes:
            if ctx.get(port.valid) and ctx.get(port.ready):
                at = ctx.get(port.address) * self.width
                enable, value = ctx.get(port.enable), ctx.get(port.value)
                self.written += 1
                for place in range(self.width):
                    if enable >> place & 1:
                        self.bytes[at + place] = value >> 8 * place & 0xFF
        return shown


class MemoryModel:
    """Memories behind ports of 64 bits, with responses after random times.

    Parameters
    ----------
    requests, responses : sequences of streams
        From the unit's side.
    goes : callable
        Whether something happens in this cycle.

    Attributes
    ----------
    parts : dict of RegionName to ndarray, uint8
    """

    def __init__(
        self, requests: Sequence[Any], responses: Sequence[Any], goes: Callable[[], bool]
    ) -> None:
        self.parts = {
            region.name: np.zeros(region.size, np.uint8)
            for region in REGIONS
            if region.name in (RegionName.L1, RegionName.INSTRUCTIONS)
        }
        self._ports = list(zip(requests, responses, strict=True))
        self._waiting: list[deque[int]] = [deque() for _ in self._ports]
        self._goes = goes

    def before_edge(self, ctx: Any) -> None:
        """Show responses, and what is ready."""
        for (request, response), waiting in zip(self._ports, self._waiting, strict=True):
            ctx.set(request.ready, self._goes())
            gives = bool(waiting) and self._goes()
            ctx.set(response.valid, gives)
            if gives:
                ctx.set(response.payload, waiting.popleft())

    def sample(self, ctx: Any) -> None:
        """Do what is transferred at the edge."""
        seen: dict[int, bool] = {}
        for (request, _), waiting in zip(self._ports, self._waiting, strict=True):
            if not ctx.get(request.valid):
                continue
            payload = ctx.get(request.payload)
            assert payload.address % 8 == 0
            other = seen.get(payload.address)
            assert other is None or not (other or payload.write), "two accesses at one address"
            seen[payload.address] = bool(payload.write)
            if ctx.get(request.ready):
                waiting.append(self._access(payload))

    def _access(self, request: Any) -> int:
        part, at = self._place(request.address)
        if not request.write:
            return int.from_bytes(part[at : at + 8].tobytes(), "little")
        for place in range(8):
            if request.mask >> place & 1:
                part[at + place] = request.data >> 8 * place & 0xFF
        return 0

    def _place(self, address: int) -> tuple[np.ndarray, int]:
        for region in REGIONS:
            if region.name in self.parts and region.base <= address < region.end:
                return self.parts[region.name], address - region.base
        raise AssertionError(f"a request at {address:#x}, where no memory is")
