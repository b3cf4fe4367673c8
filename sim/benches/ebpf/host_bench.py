"""The host's port with a map unit and a program store, without cores, in Amaranth's simulator."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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
        waiting = set(channels)
        self._set(f"{answer}ready", 1)
        for _ in range(_PATIENCE):
            for channel in channels:
                self._set(f"{channel}valid", int(channel in waiting))
            taken = {channel for channel in waiting if self._get(f"{channel}ready")}
            answered = bool(self._get(f"{answer}valid"))
            values = tuple(self._get(name) for name in names)
            await self.ctx.tick()
            waiting -= taken
            if answered:
                self._set(f"{answer}ready", 0)
                return values
        raise FaultError(f"the host's port does not answer within {_PATIENCE} cycles")

    def _set(self, name: str, value: int) -> None:
        self.ctx.set(getattr(self.port, f"s_axil_{name}"), value)

    def _get(self, name: str) -> int:
        return int(self.ctx.get(getattr(self.port, f"s_axil_{name}")))


def play_host(
    scenario: Callable[[HostBench], Awaitable[None]],
    config: EbpfConfig,
    *others: Callable[[HostBench], Awaitable[None]],
    stall: int = 0,
) -> None:
    """Run a scenario to its end, and others beside it for as long; watches all of its streams.

    Parameters
    ----------
    scenario : coroutine function of a HostBench
        Drives the bus.
    config : EbpfConfig
        The engine.
    others : coroutine functions of a HostBench
        Anything else, such as what programs do.
    stall : int
        Chance in 1/256 that a stream of the port is held back in a cycle.

    Raises
    ------
    FaultError
        If the port breaks the protocol of a stream.
    """
    # Only now: describing hardware is slow to import.
    from amaranth.hdl import Module
    from amaranth.sim import Simulator

    top = Module()
    port, maps, store = _build(top, config, stall)
    checkers = _watch(top, port)
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    for number, function in enumerate((scenario, *others)):

        async def testbench(ctx: Any, function: Any = function, number: int = number) -> None:
            await function(HostBench(ctx=ctx, port=port, maps=maps, store=store))
            if number == 0:
                for name, checker in checkers.items():
                    if ctx.get(checker.violation):
                        raise FaultError(f"{name}: {ctx.get(checker.cause).name}")

        simulator.add_testbench(testbench, background=number > 0)
    simulator.run()


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


def _build(m: Any, config: EbpfConfig, stall: int) -> tuple[Any, Any, Any]:
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
