"""Register file of the unit: configuration, operation start and its checks, read-back."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.isa.ventaglio import (
    REGISTERS,
    ErrorCause,
    IndexMode,
    Opcode,
    register,
)
from fanweave.golden.ventaglio.config import VentaglioConfig
from fanweave.hw.ventaglio.payloads import Command, OperationConfig

__all__ = ["ErrorReport", "Registers"]

#: Field of an operation's configuration -> register and field it is taken from.
_SOURCES = {
    "element": ("format", "element"),
    "index_mode": ("format", "index_mode"),
    "skip_zeros": ("format", "skip_zeros"),
    "n": ("sparsity", "n"),
    "m": ("sparsity", "m"),
    "length": ("length", "rows"),
    "width": ("tile", "width"),
    "outputs": ("tile", "outputs"),
    "base": ("accumulators", "base"),
    "stride": ("accumulators", "stride"),
    "first_row": ("first_row", "row"),
    "count": ("drain", "count"),
    "target": ("drain", "target"),
    "raw": ("drain", "raw"),
    "clear": ("drain", "clear"),
    "scale": ("scale", "bits"),
}

_RESET_TIMEOUT = 65535


class ErrorReport(wiring.Signature):
    """A cause (0 for none in this cycle) with the offending row and element."""

    def __init__(self) -> None:
        super().__init__({"cause": Out(4), "row": Out(32), "element": Out(32)})


class Registers(wiring.Component):
    """Takes register writes and starts operations.

    Parameters
    ----------
    config : VentaglioConfig
        Parameters of the unit.

    Members
    -------
    commands : stream in of `Command`
    operations : stream out of `OperationConfig`
    error : In(ErrorReport)
        What the datapath found in this cycle.
    halt : In(1)
        Enter the halted state, with ``error``.
    halted, timeout : Out
    clear_counters : Out(1)
    busy : In(1)
    read_address, read_data : read-back, combinational; 0 for counters
    """

    def __init__(self, *, config: VentaglioConfig) -> None:
        self.config = config
        super().__init__(
            {
                "commands": In(stream.Signature(Command)),
                "operations": Out(stream.Signature(OperationConfig)),
                "error": In(ErrorReport()),
                "halt": In(1),
                "halted": Out(1),
                "timeout": Out(24),
                "clear_counters": Out(1),
                "busy": In(1),
                "read_address": In(8),
                "read_data": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = self.commands.payload
        stored = {
            (entry.name, field.name): Signal(field.width, name=f"{entry.name}_{field.name}")
            for entry in REGISTERS
            if entry.access == "rw"
            for field in entry.fields
        }
        stored["timeout", "cycles"] = Signal(24, name="timeout_cycles", init=_RESET_TIMEOUT)
        m.d.comb += self.timeout.eq(stored["timeout", "cycles"])

        is_start = Signal()
        is_error_clear = Signal()
        write = Signal()
        m.d.comb += [
            is_start.eq(command.address == register("command").address),
            is_error_clear.eq(command.address == register("error").address),
            write.eq(self.commands.valid & self.commands.ready),
            self.clear_counters.eq(
                write & ~self.halted & (command.address == register("clear_counters").address)
            ),
        ]
        for entry in REGISTERS:
            if entry.access != "rw":
                continue
            with m.If(write & ~self.halted & (command.address == entry.address)):
                for field in entry.fields:
                    m.d.sync += stored[entry.name, field.name].eq(command.data[field.low :])

        operation = self.operations.payload
        for name, source in _SOURCES.items():
            m.d.comb += operation[name].eq(stored[source])
        m.d.comb += operation.opcode.eq(command.data)

        refusal = Signal(4)
        self._check(m, operation, refusal)
        m.d.comb += [
            self.operations.valid.eq(
                self.commands.valid & is_start & ~self.halted & (refusal == ErrorCause.NONE)
            ),
            self.commands.ready.eq(
                ~is_start | self.halted | (refusal != ErrorCause.NONE) | self.operations.ready
            ),
        ]
        self._errors(m, write & is_start & ~self.halted, refusal, write & is_error_clear)
        self._read(m, stored)
        return m

    def _check(self, m: Module, operation: OperationConfig, refusal: Signal) -> None:
        """Set ``refusal`` to why the operation may not start, or to none."""
        config = self.config
        built = Signal()
        target_built = Signal()
        m.d.comb += [
            built.eq(Cat(operation.element == f for f in config.formats).any()),
            target_built.eq(Cat(operation.target == f for f in ElementFormat).any()),
        ]
        reach = Signal(22)
        pattern_wrong = Signal()
        misaligned = Signal()
        m.d.comb += [
            reach.eq(operation.base + (operation.outputs - 1)[:4] * operation.stride),
            pattern_wrong.eq(
                (operation.index_mode == IndexMode.N_OF_M)
                & ((operation.n == 0) | (operation.n > operation.m) | (operation.m > 32))
            ),
            misaligned.eq(operation.base[: (config.drain_lanes - 1).bit_length()].any()),
        ]
        with m.Switch(operation.opcode):
            with m.Case(Opcode.MULTIPLY, Opcode.MULTIPLY_ACCUMULATE):
                with m.If(~built | (operation.index_mode > IndexMode.ABSOLUTE_16)):
                    m.d.comb += refusal.eq(ErrorCause.ILLEGAL_FORMAT)
                with m.Elif(
                    (operation.outputs == 0)
                    | (operation.outputs > config.max_outputs)
                    | (operation.width == 0)
                    | (reach + operation.width > config.accumulators)
                    | pattern_wrong
                    | misaligned
                ):
                    m.d.comb += refusal.eq(ErrorCause.OVER_CONFIGURATION)
            with m.Case(Opcode.DRAIN):
                with m.If(~built | (~operation.raw & ~target_built)):
                    m.d.comb += refusal.eq(ErrorCause.ILLEGAL_FORMAT)
                with m.Elif(misaligned | (operation.base + operation.count > config.accumulators)):
                    m.d.comb += refusal.eq(ErrorCause.OVER_CONFIGURATION)
            with m.Case(Opcode.CLEAR):
                pass
            with m.Default():
                m.d.comb += refusal.eq(ErrorCause.ILLEGAL_OPERATION)

    def _errors(self, m: Module, start: Signal, refusal: Signal, clear: Signal) -> None:
        """Keep the first error until it is cleared; one that comes with the clear is the next."""
        self._cause = Signal(4, name="error_cause")
        self._row = Signal(32, name="error_row")
        self._element = Signal(32, name="error_element")
        reported = self.error.cause != ErrorCause.NONE
        with m.If(clear):
            m.d.sync += [
                self._cause.eq(self.error.cause),
                self._row.eq(Mux(reported, self.error.row, 0)),
                self._element.eq(Mux(reported, self.error.element, 0)),
                self.halted.eq(0),
            ]
        with m.Elif((self._cause == ErrorCause.NONE) & reported):
            m.d.sync += [
                self._cause.eq(self.error.cause),
                self._row.eq(self.error.row),
                self._element.eq(self.error.element),
            ]
        with m.Elif((self._cause == ErrorCause.NONE) & start):
            m.d.sync += self._cause.eq(refusal)
        with m.If(self.halt):
            m.d.sync += self.halted.eq(1)

    def _read(self, m: Module, stored: dict[tuple[str, str], Signal]) -> None:
        live = {
            ("error", "cause"): self._cause,
            ("error", "halted"): self.halted,
            ("error_row", "row"): self._row,
            ("error_element", "element"): self._element,
            ("status", "busy"): self.busy,
        }
        readable = stored | live
        with m.Switch(self.read_address):
            for entry in REGISTERS:
                with m.Case(entry.address):
                    for field in entry.fields:
                        if (entry.name, field.name) in readable:
                            place = self.read_data[field.low : field.low + field.width]
                            m.d.comb += place.eq(readable[entry.name, field.name])
