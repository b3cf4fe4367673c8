"""The golden machine: programs, maps and engines, and the two ways to run an event."""

from collections.abc import Mapping, Sequence

from fanweave.golden.ebpf.event import Event, Outcome
from fanweave.golden.ebpf.helpers import Engine
from fanweave.golden.ebpf.interpreter import Trace, advance, interpret
from fanweave.golden.ebpf.maps import Map, PerEngineArrayMap
from fanweave.golden.ebpf.memory import MachineFaultError, Memory
from fanweave.golden.ebpf.program import Program
from fanweave.golden.ebpf.translator import Translation, translate
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_machine import (
    DEFAULT_BUDGET,
    MAPS,
    FaultCause,
    random_seed,
)

__all__ = ["Machine"]


class Machine:
    """Runs programs on events.

    Parameters
    ----------
    maps : sequence of Map
        By number; programs name them by it.
    programs : mapping of int to Program
        What entries of program arrays stand for.
    engines : int
        Engines, each with its own random numbers.
    budget : int
        Instructions of one event, after which the watchdog ends it.
    operand_bytes : int, optional
        Most bytes that a helper may copy; any number if it is not given. An engine in hardware has
        such a limit.

    Raises
    ------
    InputError
        If there is no engine or no budget, there are too many maps, or an array has values for
        another number of engines.
    """

    def __init__(
        self,
        maps: Sequence[Map] = (),
        *,
        programs: Mapping[int, Program] | None = None,
        engines: int = 1,
        budget: int = DEFAULT_BUDGET,
        operand_bytes: int | None = None,
    ) -> None:
        if engines < 1:
            raise InputError(f"engines = {engines}; a machine needs 1 or more")
        if budget < 1:
            raise InputError(f"budget = {budget}; an event needs 1 instruction or more")
        if len(maps) > MAPS:
            raise InputError(f"{len(maps)} maps; addresses can name {MAPS}")
        for made in maps:
            if isinstance(made, PerEngineArrayMap) and made.engines != engines:
                raise InputError(
                    f"map {made.spec.name!r} has values for {made.engines} engines; the machine "
                    f"has engines = {engines}"
                )
        self.maps = list(maps)
        self.programs = dict(programs or {})
        self.engines = [Engine(number=n, random=random_seed(n)) for n in range(engines)]
        self.budget = budget
        self.operand_bytes = operand_bytes
        self._translations: dict[Program, Translation] = {}

    def run(
        self,
        program: Program,
        context: bytearray | bytes = b"",
        *,
        engine: int = 0,
        time_ns: int = 0,
        trace: Trace | None = None,
        reference: bool = False,
    ) -> Outcome:
        """Handle one event.

        Parameters
        ----------
        program : Program
            What to run; r1 is the address of the context and r2 its length.
        context : bytearray or bytes
            What the event brings. A bytearray holds what the program made of it afterwards.
        engine : int
            Engine that handles it.
        time_ns : int
            Time of the event.
        trace : callable, optional
            Sees each instruction before it is executed; slows the run down.
        reference : bool
            Use the interpreter instead of translated code.

        Returns
        -------
        Outcome
            Result, or why it ended early.

        Raises
        ------
        InputError
            If there is no such engine.
        """
        if not 0 <= engine < len(self.engines):
            raise InputError(f"engine = {engine}; the machine has 0 to {len(self.engines) - 1}")
        where = self.engines[engine]
        where.time_ns = time_ns
        memory = Memory(
            context if isinstance(context, bytearray) else bytearray(context),
            self.maps,
            self.operand_bytes,
        )
        event = Event(program=program, memory=memory, engine=where)
        fault = FaultCause.NONE
        try:
            if not reference and trace is None:
                self._run_translated(event)
            else:
                interpret(event, self.programs, self.budget, trace)
        except MachineFaultError as error:
            fault = error.cause
        memory.drop_records()
        return Outcome(
            r0=event.registers[0],
            fault=fault,
            slot=event.slot,
            instructions=event.executed,
            registers=tuple(event.registers),
        )

    def _run_translated(self, event: Event) -> None:
        """Translated code as far as it goes, and the interpreter for the instruction behind it."""
        while not self._translation(event.program)(event, self.budget):
            if advance(event, self.programs, self.budget):
                return

    def _translation(self, program: Program) -> Translation:
        if program not in self._translations:
            self._translations[program] = translate(program)
        return self._translations[program]
