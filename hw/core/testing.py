"""Test support: a core with memories in Amaranth's simulator, held against another model."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from amaranth import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from fanweave.hw.core.config import ScalarConfig
from fanweave.hw.core.core import Core
from fanweave.hw.core.offload_port import NoVectorUnit
from fanweave.hw.stream.checker import StreamChecker

__all__ = ["CoreBench", "Memories", "VectorModel"]


class Memories:
    """What a core sees behind its ports; a test's own class gives the contents."""

    def fetch(self, address: int) -> int:
        """The instruction at an address."""
        raise NotImplementedError

    def access(self, address: int, write: bool, mask: int, data: int) -> int | None:
        """Load or store a word; None if nothing is there."""
        raise NotImplementedError


class VectorModel:
    """What stands behind the core's offload port; a test's own class does something there."""

    def before_edge(self, ctx: Any, core: Core) -> None:
        """Set verdicts, results and what is busy, having seen this cycle's offload."""
        raise NotImplementedError


@dataclass(kw_only=True)
class CoreBench:
    """Runs a core cycle by cycle; every stream is watched for its protocol.

    Parameters
    ----------
    memories : Memories
        What it fetches, loads and stores.
    boot : int
        First address.
    seed : int
        Of the pauses of memory.
    pause : float
        Chance that a request is not taken, or a response not given, in a cycle.
    config : ScalarConfig
    vector : VectorModel or None
        Without one, vector instructions are illegal.

    Attributes
    ----------
    cycles : int
        Cycles that have run.
    stalls : dict of str to int
        Their causes.
    """

    memories: Memories
    boot: int
    seed: int = 0
    pause: float = 0.0
    config: ScalarConfig = field(default_factory=ScalarConfig)
    vector: VectorModel | None = None
    cycles: int = 0
    stalls: dict[str, int] = field(default_factory=dict)

    def run(self, observe: Callable[[Any, Core], bool], *, limit: int) -> bool:
        """Run until `observe`, which sees each cycle before its clock edge, says so.

        Returns
        -------
        bool
            Whether it did, within `limit` cycles.

        Raises
        ------
        AssertionError
            If the core breaks the protocol of a stream.
        """
        core = Core(config=self.config)
        top, checkers = self._top(core)
        ended = False

        async def drive(ctx: Any) -> None:
            nonlocal ended
            ctx.set(core.boot, self.boot)
            ctx.set(core.run, 1)
            ports = _Ports(self.memories, random.Random(self.seed), self.pause)
            for _ in range(limit):
                ports.before_edge(ctx, core)
                if self.vector is not None:
                    self.vector.before_edge(ctx, core)
                ended = observe(ctx, core)
                stalls = ctx.get(core.stalls.as_value())
                if stalls:
                    name = _STALLS[stalls.bit_length() - 1]
                    self.stalls[name] = self.stalls.get(name, 0) + 1
                for name, checker in checkers.items():
                    assert not ctx.get(checker.violation), f"{name}: {ctx.get(checker.cause)}"
                if ended:
                    return
                ports.sample(ctx, core)
                await ctx.tick()
                self.cycles += 1

        simulator = Simulator(top)
        simulator.add_clock(1e-6)
        simulator.add_testbench(drive)
        simulator.run()
        return ended

    def _top(self, core: Core) -> tuple[Module, dict[str, StreamChecker]]:
        """The core with checkers at its streams, and with no vector unit unless there is one."""
        top = Module()
        top.submodules.core = core
        checkers = {}
        for name in ("fetches", "requests", "offloads"):
            watched = getattr(core, name)
            checkers[name] = checker = StreamChecker(shape=watched.payload.shape())
            top.submodules[f"{name}_checker"] = checker
            checker.watch(top, watched)
        if self.vector is None:
            top.submodules.vector = vector = NoVectorUnit()
            wiring.connect(top, core.offloads, vector.offloads)
            wiring.connect(top, vector.verdicts, core.verdicts)
            wiring.connect(top, vector.results, core.results)
        return top, checkers


_STALLS = ("fetch", "load", "operand", "memory", "offload", "unit", "redirect")


class _Ports:
    """Both memory ports: requests that are taken, and responses that are due."""

    def __init__(self, memories: Memories, generator: random.Random, pause: float) -> None:
        self._memories, self._generator, self._pause = memories, generator, pause
        self._fetched: list[int] = []
        self._loaded: list[tuple[int, bool]] = []

    def _goes(self) -> bool:
        return self._pause == 0 or self._generator.random() >= self._pause

    def before_edge(self, ctx: Any, core: Core) -> None:
        """Show responses, and whether requests are taken."""
        give = bool(self._fetched) and self._goes()
        ctx.set(core.fetched.valid, give)
        if give:
            ctx.set(core.fetched.payload, self._fetched.pop(0))
        give = bool(self._loaded) and self._goes()
        ctx.set(core.responses.valid, give)
        if give:
            word, error = self._loaded.pop(0)
            ctx.set(core.responses.payload.data, word)
            ctx.set(core.responses.payload.error, error)
        ctx.set(core.fetches.ready, self._goes())
        ctx.set(core.requests.ready, self._goes())

    def sample(self, ctx: Any, core: Core) -> None:
        """Take the requests that are transferred at the edge."""
        if ctx.get(core.fetches.valid) and ctx.get(core.fetches.ready):
            self._fetched.append(self._memories.fetch(ctx.get(core.fetches.payload)))
        if ctx.get(core.requests.valid) and ctx.get(core.requests.ready):
            request = ctx.get(core.requests.payload)
            word = self._memories.access(
                request.address, bool(request.write), request.mask, request.data
            )
            self._loaded.append((word or 0, word is None))
