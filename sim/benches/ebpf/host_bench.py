"""The host's port with a map unit and a program store, without cores, in Amaranth's simulator."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.errors import FaultError

__all__ = ["HostBench", "play_host"]

#: Cycles that a transfer on the bus may take.
_PATIENCE = 50
_OKAY = 0
_ALL_STROBES = 0xF
#: Streams that leave the port.
_STREAMS = (
    "program_write",
    "commit",
    "release",
    "bind",
    "descriptors",
    "operations",
    "accesses",
)


@dataclass(frozen=True, kw_only=True)
class HostBench:
    """What a scenario works with; a bus for the driver.

    Attributes
    ----------
    ctx : simulation context
    port, maps, store : HostPort, MapUnit, ProgramStore
        The first source of operations and of accesses to the maps is free for the scenario.
    """

    ctx: Any
    port: Any
    maps: Any
    store: Any

    async def write(self, address: int, value: int) -> None:
        """Write a register.

        Raises
        ------
        FaultError
            If it is refused, or nobody answers.
        """
        response = await self.put(address, value)
        if response != _OKAY:
            raise FaultError(f"the engine refuses {value:#x} for its register {address:#x}")

    async def read(self, address: int) -> int:
        """Read a register.

        Raises
        ------
        FaultError
            If it is refused, or nobody answers.
        """
        response, value = await self.get(address)
        if response != _OKAY:
            raise FaultError(f"the engine refuses to read its register {address:#x}")
        return value

    async def put(self, address: int, value: int, *, strobes: int = _ALL_STROBES) -> int:
        """Write, and give the bus's response."""
        self._set("awaddr", address)
        self._set("wdata", value)
        self._set("wstrb", strobes)
        (response,) = await self._transfer(("aw", "w"), "b", "bresp")
        return response

    async def get(self, address: int) -> tuple[int, int]:
        """Read, and give the bus's response and the data."""
        self._set("araddr", address)
        response, value = await self._transfer(("ar",), "r", "rresp", "rdata")
        return response, value

    async def _transfer(
        self, channels: tuple[str, ...], answer: str, *names: str
    ) -> tuple[int, ...]:
        waiting = list(channels)
        for name in (*(f"{channel}valid" for channel in channels), f"{answer}ready"):
            self._set(name, 1)
        for _ in range(_PATIENCE):
            taken = [channel for channel in waiting if self._get(f"{channel}ready")]
            answered = bool(self._get(f"{answer}valid"))
            values = tuple(self._get(name) for name in names) if answered else ()
            await self.ctx.tick()
            # Only what changes is set: the simulator settles all logic after each.
            for channel in taken:
                waiting.remove(channel)
                self._set(f"{channel}valid", 0)
            if answered:
                self._set(f"{answer}ready", 0)
                return values
        raise FaultError(f"the host's port does not answer within {_PATIENCE} cycles")

    def _set(self, name: str, value: int) -> None:
        self.ctx.set(getattr(self.port, f"s_axil_{name}"), value)

    def _get(self, name: str) -> int:
        return int(self.ctx.get(getattr(self.port, f"s_axil_{name}")))


_Scenario = Callable[[HostBench], Awaitable[None]]


def play_host(
    scenario: _Scenario,
    config: EbpfConfig,
    *,
    beside: _Scenario | None = None,
    stall: int = 0,
) -> None:
    """Run a scenario to its end, and another beside it for as long; watches all of its streams.

    Each begins from reset. What was built for a configuration is used again.

    Parameters
    ----------
    scenario : coroutine function of a HostBench
        Drives the bus.
    config : EbpfConfig
        The engine.
    beside : coroutine function of a HostBench, optional
        Anything else, such as what programs do.
    stall : int
        Chance in 1/256 that a stream of the port is held back in a cycle.

    Raises
    ------
    FaultError
        If the port breaks the protocol of a stream.
    """
    _built(config).run(scenario, beside, stall)


class _Simulation:
    """A port that is described and compiled once, for many scenarios."""

    def __init__(self, config: EbpfConfig) -> None:
        # Only now: describing hardware is slow to import.
        from amaranth.hdl import Module, Signal
        from amaranth.sim import Simulator

        top = Module()
        self._stall = Signal(8)
        self._port, self._maps, self._store = _build(top, config, self._stall)
        self._checkers = _watch(top, self._port)
        self._scenario: _Scenario | None = None
        self._beside: _Scenario | None = None
        self._probability = 0
        self._used = False
        self._simulator = Simulator(top)
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._play)
        self._simulator.add_testbench(self._play_beside, background=True)

    def run(self, scenario: _Scenario, beside: _Scenario | None, stall: int) -> None:
        self._scenario, self._beside, self._probability = scenario, beside, stall
        if self._used:
            self._simulator.reset()
        self._used = True
        self._simulator.run()

    def _bench(self, ctx: Any) -> HostBench:
        return HostBench(ctx=ctx, port=self._port, maps=self._maps, store=self._store)

    async def _play(self, ctx: Any) -> None:
        assert self._scenario is not None
        ctx.set(self._stall, self._probability)
        await self._scenario(self._bench(ctx))
        for name, checker in self._checkers.items():
            if ctx.get(checker.violation):
                raise FaultError(f"{name}: {ctx.get(checker.cause).name}")

    async def _play_beside(self, ctx: Any) -> None:
        if self._beside is not None:
            await self._beside(self._bench(ctx))


@lru_cache(maxsize=4)
def _built(config: EbpfConfig) -> _Simulation:
    return _Simulation(config)


def _watch(m: Any, port: Any) -> dict[str, Any]:
    """A checker for each stream that leaves the port."""
    from fanweave.hw.stream.checker import StreamChecker

    checkers = {}
    for name in _STREAMS:
        watched = getattr(port, name)
        checkers[name] = checker = StreamChecker(shape=watched.payload.shape())
        m.submodules[f"{name}_checker"] = checker
        checker.watch(m, watched)
    return checkers


def _build(m: Any, config: EbpfConfig, stall: Any) -> tuple[Any, Any, Any]:
    from amaranth.lib import wiring

    from fanweave.hw.ebpf.host_port import HostPort
    from fanweave.hw.ebpf.maps.map_unit import MapUnit
    from fanweave.hw.ebpf.program_store import ProgramStore
    from fanweave.hw.stream.stall import StallInjector

    m.submodules.port = port = HostPort(config=config)
    m.submodules.maps = maps = MapUnit(config=config, sources=2, accessors=2, hosts=1)
    m.submodules.store = store = ProgramStore(
        slots=config.slots, images=config.images, programs=config.programs, maps=config.maps
    )
    streams = (
        (port.program_write, store.write),
        (port.commit, store.commit),
        (store.committed, port.committed),
        (port.release, store.release),
        (port.bind, store.bind),
        (port.descriptors, maps.descriptors),
        (port.operations, maps.operations[1]),
        (maps.results[1], port.results),
        (port.accesses, maps.accesses[1]),
        (maps.access_results[1], port.access_results),
    )
    for number, (source, sink) in enumerate(streams):
        between = StallInjector(shape=source.payload.shape(), seed=number + 1)
        m.submodules[f"stall_{number}"] = between
        wiring.connect(m, source, between.i)
        wiring.connect(m, between.o, sink)
        m.d.comb += between.probability.eq(stall)
    m.d.comb += [
        *(
            getattr(port, name).eq(getattr(store, name))
            for name in ("refused", "released", "release_refused", "bound", "bind_refused")
        ),
        port.operand_row.eq(maps.operand_row),
        maps.operands[1].eq(port.operand),
        port.result_write.eq(maps.result_rows[1]),
        port.result_row.eq(maps.result_row),
        port.result_data.eq(maps.result_data),
    ]
    return port, maps, store
