"""A host's operations on maps."""

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_maps import TABLES
from fanweave.golden.isa.ebpf_registers import HOST_COMMANDS
from fanweave.hw.ebpf.maps.copier import ROW_BITS
from fanweave.hw.ebpf.maps.descriptor_memory import DescriptorMemory, DescriptorWrite
from fanweave.hw.ebpf.maps.key_hash import KeyHash
from fanweave.hw.ebpf.maps.payloads import (
    BEAT_BITS,
    PLACE_BITS,
    Command,
    OperationResult,
    is_command,
    is_kind,
    operation_layout,
)
from fanweave.hw.ebpf.operands import OperandBuffer

__all__ = ["HostOperation", "HostOperations", "read_back_bytes"]

_WORD_BITS = 32


class HostOperation(data.Struct):
    """What a host asks for beside key, length and place."""

    command: Command
    flags: unsigned(4)
    map: unsigned(8)
    engine: unsigned(3)


def read_back_bytes(config: EbpfConfig) -> int:
    """Bytes of the buffer for what operations read: a value, or a key."""
    return max(config.operand_bytes, config.key_bytes)


class HostOperations(wiring.Component):
    """Looks an operation's map up, refuses what a host may not ask for, and has the rest done.

    Refused are operations on a map without a descriptor, commands that its type does not have, an
    engine or a slot that there is not, and values or records that are longer than the operands.
    The descriptor itself is the host's to get right.

    Parameters
    ----------
    config : EbpfConfig
        The engine.

    Members
    -------
    descriptors : stream in of `DescriptorWrite`
        Always ready.
    offered : In(1); request : In(HostOperation); ready, refused : Out(1)
        A request is decided in the cycle with ``ready``: with ``refused`` nothing happens, without
        it the operation goes on and is `busy` from the next cycle on. That is a cycle after the
        offer, or at once while another one is busy, which is a reason to refuse.
    key, length, place : In
        Must hold still while `busy`.
    busy : Out(1)
    result : Out(OperationResult)
        Of the last operation, once it is not busy.
    operations : stream out of `operation_layout`; results : stream in of `OperationResult`
    operand_row : In; operand : Out(BEAT_BITS); result_write, result_row, result_data : In
        The map unit's ports for this source.
    operand_word : In; operand_data : In(32); operand_write : In(1)
        Store 32 bits of the operand; not while `busy`.
    read_word : In; read_data : Out(32)
        32 bits of what operations read; combinational.
    """

    def __init__(self, *, config: EbpfConfig) -> None:
        self.config = config
        self.operation = operation_layout(config)
        bits = _WORD_BITS // 8
        super().__init__(
            {
                "descriptors": In(stream.Signature(DescriptorWrite)),
                "offered": In(1),
                "request": In(HostOperation),
                "ready": Out(1),
                "refused": Out(1),
                "key": In(8 * config.key_bytes),
                "length": In(PLACE_BITS + 1),
                "place": In(PLACE_BITS + 1),
                "busy": Out(1),
                "result": Out(OperationResult),
                "operations": Out(stream.Signature(self.operation)),
                "results": In(stream.Signature(OperationResult)),
                "operand_row": In(ROW_BITS),
                "operand": Out(BEAT_BITS),
                "result_write": In(1),
                "result_row": In(ROW_BITS),
                "result_data": In(BEAT_BITS),
                "operand_word": In(range(config.operand_bytes // bits)),
                "operand_data": In(_WORD_BITS),
                "operand_write": In(1),
                "read_word": In(range(read_back_bytes(config) // bits)),
                "read_data": Out(_WORD_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.descriptors_by_map = memory = DescriptorMemory(maps=self.config.maps)
        wiring.connect(m, wiring.flipped(self.descriptors), memory.writes)
        self._buffers(m)
        m.submodules.key_hash = key_hash = KeyHash(key_bytes=self.config.key_bytes)
        descriptor = memory.descriptor
        key = Signal(8 * self.config.key_bytes)
        held = Signal(HostOperation)
        m.d.comb += [
            key.eq(
                Cat(
                    Mux(byte < descriptor.key_bytes, self.key.word_select(byte, 8), 0)
                    for byte in range(self.config.key_bytes)
                )
            ),
            key_hash.length.eq(descriptor.key_bytes),
            key_hash.key.eq(key),
            key_hash.words.eq(self.config.key_bytes * 8 // _WORD_BITS),
            memory.map.eq(self.request.map),
        ]
        self._fill(m, held, descriptor, key, key_hash.hash)
        with m.FSM(name="operations"):
            with m.State("IDLE"), m.If(self.offered):
                m.d.comb += memory.enable.eq(1)
                m.next = "LOOK"
            with m.State("LOOK"):
                m.d.comb += [self.ready.eq(1), self.refused.eq(~self._may(m, descriptor))]
                m.d.sync += held.eq(self.request)
                with m.If(self.offered & ~self.refused):
                    m.d.comb += key_hash.start.eq(1)
                    m.next = "HASH"
                with m.Else():
                    m.next = "IDLE"
            with m.State("HASH"):
                self._reject(m)
                with m.If(key_hash.done):
                    m.next = "OFFER"
            with m.State("OFFER"):
                self._reject(m)
                m.d.comb += self.operations.valid.eq(1)
                with m.If(self.operations.ready):
                    m.next = "WAIT"
            with m.State("WAIT"):
                self._reject(m)
                m.d.comb += self.results.ready.eq(1)
                with m.If(self.results.valid):
                    m.d.sync += self.result.eq(self.results.payload)
                    m.next = "IDLE"
        return m

    def _reject(self, m: Module) -> None:
        """An operation is on its way, so that no other one can begin."""
        m.d.comb += [self.busy.eq(1), self.ready.eq(1), self.refused.eq(1)]

    def _fill(
        self, m: Module, held: data.View, descriptor: data.View, key: Value, key_hash: Value
    ) -> None:
        operation = self.operations.payload
        m.d.comb += [
            operation.command.eq(held.command),
            operation.map.eq(held.map),
            operation.descriptor.eq(descriptor),
            operation.engine.eq(held.engine),
            operation.key.eq(key),
            operation.hash.eq(key_hash),
            operation.flags.eq(held.flags),
            operation.length.eq(self.length),
            operation.place.eq(self.place),
        ]

    def _may(self, m: Module, descriptor: data.View) -> Value:
        """Whether the request is one that a host may make of the map."""
        request = self.request
        has_command = Signal()
        copies = Signal()  # a value
        too_long = Signal()
        with m.Switch(descriptor.kind):
            for kind, commands in HOST_COMMANDS.items():
                with m.Case(kind):
                    m.d.comb += has_command.eq(is_command(request, *commands))
        m.d.comb += [
            copies.eq(
                is_command(request, Command.PUSH, Command.POP, Command.PEEK)
                | (is_command(request, Command.UPDATE) & ~is_kind(descriptor, *TABLES))
            ),
            too_long.eq(
                (copies & (descriptor.value_bytes > self.config.operand_bytes))
                | (is_command(request, Command.OUTPUT) & (self.length > self.config.operand_bytes))
            ),
        ]
        no_slot = is_command(request, Command.KEY) & (self.place >= descriptor.entries)
        return (
            descriptor.valid
            & has_command
            & ~too_long
            & ~no_slot
            & (request.engine < self.config.engines)
        )

    def _buffers(self, m: Module) -> None:
        """One for what operations store and one for what they read, so that nobody has to wait."""
        m.submodules.stored = stored = OperandBuffer(size=self.config.operand_bytes)
        m.submodules.read = read = OperandBuffer(size=read_back_bytes(self.config))
        # The other half of a word stays what it is.
        m.d.comb += [
            stored.row.eq(self.operand_row),
            self.operand.eq(stored.beat),
            stored.word.eq(self.operand_word >> 1),
            stored.word_value.eq(stored.word_data),
            stored.word_write.eq(self.operand_write),
            read.row_write.eq(self.result_write),
            read.row_number.eq(self.result_row),
            read.row_data.eq(self.result_data),
            read.word.eq(self.read_word >> 1),
            self.read_data.eq(read.word_data.word_select(self.read_word[0], _WORD_BITS)),
        ]
        for half in (0, 1):
            with m.If(self.operand_word[0] == half):
                m.d.comb += stored.word_value.word_select(half, _WORD_BITS).eq(self.operand_data)
