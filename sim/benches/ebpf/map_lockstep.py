"""Plays programs that use maps on the Verilated policy engine and on golden, one by one."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.ebpf.event import Outcome
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import create_map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sim.benches.ebpf.engine_design import SERVER_CONFIG
from fanweave.sim.benches.ebpf.engine_server import EngineServer
from fanweave.sim.benches.ebpf.random_map_programs import CONTEXT_BYTES, MAPS, random_map_program
from fanweave.sim.coverage.store import record
from fanweave.sw.ebpf.driver import EngineDriver, over, run_now

__all__ = ["MapLockstep", "play", "play_seeds"]

_TABLE = 8  # number of the map of programs
#: Programs that tail calls go on in, and what the table names: the last one is bound to nothing.
_TARGETS = {0: 10_000, 1: 10_001}
_NAMED = (0, 1, 7)
_PROGRAM = 2
_BUDGET = 2000
#: Programs of a round.
_ROUND = 500


@dataclass
class Tally:
    """What was compared.

    Attributes
    ----------
    programs, instructions, cycles : int
    causes : Counter of FaultCause
        How events ended.
    """

    programs: int = 0
    instructions: int = 0
    cycles: int = 0
    causes: Counter[FaultCause] = field(default_factory=Counter)


class MapLockstep:
    """An engine and a golden machine with the same maps and programs.

    Parameters
    ----------
    config : EbpfConfig
        The engine.
    """

    def __init__(self, config: EbpfConfig = SERVER_CONFIG) -> None:
        self.config = config
        self.server = EngineServer(config)
        self.driver = run_now(EngineDriver.identify(over(self.server)))
        self.tally = Tally()
        maps = [create_map(spec, engines=config.engines) for spec in MAPS]
        targets = {number: random_map_program(seed) for number, seed in _TARGETS.items()}
        self.golden = Machine(
            maps,
            programs=targets,
            engines=config.engines,
            budget=_BUDGET,
            operand_bytes=config.operand_bytes,
        )
        run_now(self._set_up(targets))

    def __enter__(self) -> "MapLockstep":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.close()

    async def _set_up(self, targets: dict[int, Program]) -> None:
        driver = self.driver
        await driver.set_budget(_BUDGET)
        await driver.maps.create(MAPS)
        for number, program in targets.items():
            await driver.programs.install(number, program)
        for place, number in enumerate(_NAMED):
            key, value = place.to_bytes(4, "little"), number.to_bytes(4, "little")
            await driver.maps.update(_TABLE, key, value)
            self.golden.maps[_TABLE].update(key, value)

    def play(self, seed: int) -> None:
        """Play one random program on one random context.

        Raises
        ------
        FaultError
            If the outcome differs; the message names the seed.
        """
        program = random_map_program(seed)
        run_now(self.driver.programs.install(_PROGRAM, program))
        context = bytearray((seed * 7 + at) & 0xFF for at in range(CONTEXT_BYTES))
        engine = seed % self.config.engines
        self.server.offer(
            bytes(context), tag=seed & 0xFFFF, program=_PROGRAM, time_ns=seed, engine=engine
        )
        verdict = self.server.verdict(engine)
        outcome = self.golden.run(program, context, time_ns=seed, engine=engine)
        found = verdict.cause, verdict.instructions, verdict.context, verdict.r0
        expected = outcome.fault, outcome.instructions, bytes(context), _result(outcome)
        if found != expected:
            raise FaultError(
                f"program of seed {seed}: (cause, instructions, context, r0) is {found}; golden "
                f"has {expected}"
            )
        self.tally.programs += 1
        self.tally.instructions += outcome.instructions
        self.tally.cycles += verdict.end - verdict.begin
        self.tally.causes[outcome.fault] += 1

    def compare_maps(self) -> None:
        """Compare what is in all maps.

        Raises
        ------
        FaultError
            If one differs; the message names it.
        """
        for number, made in enumerate(self.golden.maps):
            found = sorted(run_now(self.driver.maps.items(number)))
            expected = sorted(made.items())
            if found != expected:
                raise FaultError(
                    f"map {made.spec.name!r} has {_shown(found)}; golden has {_shown(expected)}"
                )


def play_seeds(seeds: Iterable[int], config: EbpfConfig = SERVER_CONFIG) -> Tally:
    """Play programs and compare every event, and all maps now and then and at the end.

    Raises
    ------
    FaultError
        If something differs; the message names the seeds.
    """
    with MapLockstep(config) as pair:
        first = None
        for seed in seeds:
            first = seed if first is None else first
            try:
                pair.play(seed)
                if pair.tally.programs % 100 == 0:
                    pair.compare_maps()
            except FaultError as error:
                raise FaultError(f"seeds {first} to {seed}: {error}") from error
        pair.compare_maps()
        return pair.tally


def play(seed: int, config: str | None = None) -> str:
    """Play a round of the soak: programs on one engine, one after the other.

    Parameters
    ----------
    seed : int
        Decides everything; seeds of programs do not meet those of other rounds.
    config : str, optional
        Nothing else than ``server``.

    Raises
    ------
    FaultError
        If something differs.
    InputError
        If another configuration is asked for.
    """
    if config not in (None, "server"):
        raise InputError(f"soak ebpf-maps knows configuration 'server' and not {config!r}")
    tally = play_seeds(range(seed * _ROUND, (seed + 1) * _ROUND))
    record("ebpf", {"events": Counter({(c.name,): n for c, n in tally.causes.items()})})
    ended = ", ".join(f"{cause.name} {count}" for cause, count in sorted(tally.causes.items()))
    return (
        f"{tally.programs} programs, {tally.instructions} instructions; events ended with {ended}"
    )


def _result(outcome: Outcome) -> int:
    """r0, or the default verdict, which is 0."""
    return outcome.r0 if outcome.fault is FaultCause.NONE else 0


def _shown(items: list[tuple[bytes, bytes]]) -> str:
    return ", ".join(f"{key.hex() or '-'}: {value.hex()}" for key, value in items) or "nothing"
