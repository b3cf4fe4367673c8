"""The engine's registers: all that a host does with it."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.isa.ebpf_registers import (
    ADDRESS_BITS,
    COUNTERS,
    LIMITS,
    REGISTERS,
    WORD_BITS,
    register,
)
from fanweave.golden.isa.registers import Register
from fanweave.hw.ebpf.host_accesses import HostAccesses
from fanweave.hw.ebpf.host_counters import HostCounters
from fanweave.hw.ebpf.host_operations import HostOperations, read_back_bytes
from fanweave.hw.ebpf.host_programs import HostPrograms
from fanweave.hw.ebpf.maps.copier import ROW_BITS
from fanweave.hw.ebpf.maps.descriptor_memory import DescriptorWrite
from fanweave.hw.ebpf.maps.payloads import (
    BEAT_BITS,
    Access,
    AccessResult,
    Descriptor,
    OperationResult,
    operation_layout,
)
from fanweave.hw.ebpf.payloads import Cause
from fanweave.hw.ebpf.program_payloads import Bind, Commit, CommitResult, ProgramWrite, Release
from fanweave.hw.stream.axi_lite import AxiLiteRegisters, axi_lite_members

__all__ = ["ADDRESS_BITS", "BUS_PREFIX", "HostPort"]

#: Put before the names of the bus's ports.
BUS_PREFIX = "s_axil_"

_PROGRAM_PORTS = {
    "program_write": Out(stream.Signature(ProgramWrite)),
    "commit": Out(stream.Signature(Commit)),
    "committed": In(stream.Signature(CommitResult)),
    "release": Out(stream.Signature(Release)),
    "bind": Out(stream.Signature(Bind)),
}
_PROGRAM_ANSWERS = ("refused", "released", "release_refused", "bound", "bind_refused")


class HostPort(wiring.Component):
    """Registers of `fanweave.golden.isa.ebpf_registers` behind AXI4-Lite.

    Every transfer on the bus is answered after a few cycles, whatever the engine does: what takes
    longer is started by a write, and a status register says when it has ended. A write that cannot
    be done is answered with SLVERR and changes nothing: to a register that does not exist in this
    configuration or cannot be written, without all strobes, of a command while the one before is
    busy or of what that works with, or of a command that the table or the map does not allow.

    Parameters
    ----------
    config : EbpfConfig
        The engine.

    Members
    -------
    s_axil_* : AXI4-Lite
        Byte addresses of `ADDRESS_BITS`.
    program_write, refused, commit, committed, release, released, release_refused, bind, bound,
    bind_refused
        To the store; see `ProgramStore`.
    descriptors : stream out of `DescriptorWrite`
        To all who know maps; they must be ready always.
    operations : stream out of `operation_layout`; results : stream in of `OperationResult`
    operand_row : In; operand : Out(BEAT_BITS); result_write : In(1); result_row, result_data : In
    accesses : stream out of `Access`; access_results : stream in of `AccessResult`
        To the map unit, as a source of both, of accesses the last and a host; see `MapUnit`. All
        accesses are ``in_record``.
    budget : Out(32); default_verdict : Out(64)
    verdict_valid, verdict_cause, instructions, event_taken : arrays of In, one for each engine
        What is counted; see `HostCounters`.
    """

    def __init__(self, *, config: EbpfConfig) -> None:
        self.config = config
        engines = config.engines
        super().__init__(
            {
                **axi_lite_members(ADDRESS_BITS, prefix=BUS_PREFIX),
                **_PROGRAM_PORTS,
                **dict.fromkeys(_PROGRAM_ANSWERS, In(1)),
                "descriptors": Out(stream.Signature(DescriptorWrite)),
                "operations": Out(stream.Signature(operation_layout(config))),
                "results": In(stream.Signature(OperationResult)),
                "operand_row": In(ROW_BITS),
                "operand": Out(BEAT_BITS),
                "result_write": In(1),
                "result_row": In(ROW_BITS),
                "result_data": In(BEAT_BITS),
                "accesses": Out(stream.Signature(Access)),
                "access_results": In(stream.Signature(AccessResult)),
                "budget": Out(32),
                "default_verdict": Out(64),
                "verdict_valid": In(1).array(engines),
                "verdict_cause": In(Cause).array(engines),
                "instructions": In(1).array(engines),
                "event_taken": In(1).array(engines),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._bus(m)
        self._hold(m)
        m.submodules.programs = self._programs = HostPrograms()
        m.submodules.maps = self._maps = HostOperations(config=self.config)
        m.submodules.values = self._values = HostAccesses()
        m.submodules.counters = self._counters = HostCounters(engines=self.config.engines)
        self._decide(m)
        self._connect_programs(m)
        self._connect_maps(m)
        self._connect_values(m)
        self._connect_counters(m)
        self._read(m)
        return m

    # The bus

    def _words(self, entry: Register) -> int:
        """Words of a register in this configuration."""
        limits = {
            "operation_key": self.config.key_bytes,
            "operand": self.config.operand_bytes,
            "read_back": read_back_bytes(self.config),
        }
        return limits[entry.name] // (WORD_BITS // 8) if entry.name in limits else entry.words

    def _addresses(self, entry: Register) -> range:
        return range(entry.address, entry.address + self._words(entry))

    def _bus(self, m: Module) -> None:
        m.submodules.bus = bus = AxiLiteRegisters(
            address_bits=ADDRESS_BITS,
            writable=[w for r in REGISTERS if r.access != "ro" for w in self._addresses(r)],
            readable=[w for r in REGISTERS if r.access != "wo" for w in self._addresses(r)],
        )
        self._axi = bus
        for name, member in axi_lite_members(ADDRESS_BITS).items():
            inner, outer = getattr(bus, name), getattr(self, BUS_PREFIX + name)
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        self._written = Signal()  # a write is taken and not refused
        m.d.comb += self._written.eq(bus.writes.valid & bus.writes.ready & ~bus.refused)

    def _at(self, name: str) -> Value:
        """The write that is offered is to a register."""
        entry = register(name)
        address = self._axi.writes.payload.address
        if self._words(entry) == 1:
            return address == entry.address
        return (address >= entry.address) & (address < entry.address + self._words(entry))

    def _offered(self, name: str) -> Value:
        return self._axi.writes.valid & self._at(name)

    def _given(self, name: str, field: str) -> Value:
        """A field of what is written."""
        place = register(name).field(field)
        return self._axi.writes.payload.data[place.low : place.low + place.width]

    def _hold(self, m: Module) -> None:
        """Registers that hold what was written."""
        writes = self._axi.writes.payload
        self._held: dict[str, list[Signal]] = {}
        for entry in REGISTERS:
            if entry.access != "rw":
                continue
            width = max(field.low + field.width for field in entry.fields)
            self._held[entry.name] = words = []
            for word in range(self._words(entry)):
                held = Signal(width, name=f"{entry.name}_{word}", init=entry.reset)
                words.append(held)
                with m.If(self._written & (writes.address == entry.address + word)):
                    m.d.sync += held.eq(writes.data)

    def _decide(self, m: Module) -> None:
        """Whether the write that is offered is done, refused, or has to wait."""
        programs, maps, values = self._programs, self._maps, self._values
        descriptor = data.View(Descriptor, Cat(self._held["descriptor"]))
        no_map = (self._given("descriptor_map", "map") >= self.config.maps) | (
            descriptor.key_bytes > self.config.key_bytes
        )
        reasons = {
            "commit": programs.commit_busy,
            "release": programs.release_busy,
            "bind": programs.bind_busy,
            "descriptor_map": no_map,
            "operation": maps.refused,
            **dict.fromkeys(
                ("operation_key", "operation_length", "operation_place", "operand"), maps.busy
            ),
            "access": values.busy | ~values.legal,
            **dict.fromkeys(("access_address", "access_data"), values.busy),
        }
        m.d.comb += self._axi.writes.ready.eq(1)
        for name, reason in reasons.items():
            with m.If(self._at(name)):
                m.d.comb += self._axi.refused.eq(reason)
        # These wait for streams that are ready always.
        with m.If(self._at("program_high")):
            m.d.comb += self._axi.writes.ready.eq(~programs.word_waits)
        with m.If(self._at("descriptor_map") & ~no_map):
            m.d.comb += self._axi.writes.ready.eq(self.descriptors.ready)
        with m.If(self._at("operation")):
            m.d.comb += self._axi.writes.ready.eq(maps.ready)
        self._no_map = no_map

    # What the registers do

    def _connect_programs(self, m: Module) -> None:
        part, held = self._programs, self._held
        (slot,) = held["program_slot"]
        for name in _PROGRAM_PORTS:
            outer = getattr(self, name)
            wiring.connect(m, getattr(part, name), wiring.flipped(outer))
        for name in _PROGRAM_ANSWERS:
            m.d.comb += getattr(part, name).eq(getattr(self, name))
        m.d.comb += [
            part.word_start.eq(self._written & self._at("program_high")),
            part.word.slot.eq(slot),
            part.word.word.eq(Cat(held["program_low"][0], self._given("program_high", "bits"))),
            part.clear_refused.eq(self._written & self._at("program_slot")),
            part.commit_start.eq(self._written & self._at("commit")),
            part.commit_request.image.eq(self._given("commit", "image")),
            part.commit_request.base.eq(held["commit_base"][0]),
            part.commit_request.length.eq(held["commit_length"][0]),
            part.release_start.eq(self._written & self._at("release")),
            part.release_request.image.eq(self._given("release", "image")),
            part.bind_start.eq(self._written & self._at("bind")),
            *(
                part.bind_request[field].eq(self._given("bind", field))
                for field in ("program", "image", "valid")
            ),
            self.budget.eq(held["budget"][0]),
        ]
        with m.If(part.word_start):
            m.d.sync += slot.eq(slot + 1)
        # The lower word waits, so that no verdict has halves of two.
        low = held["default_verdict"][0]
        with m.If(self._written & (self._axi.writes.payload.address == _upper("default_verdict"))):
            m.d.sync += self.default_verdict.eq(Cat(low, self._axi.writes.payload.data))

    def _connect_maps(self, m: Module) -> None:
        part, held, writes = self._maps, self._held, self._axi.writes.payload
        offered = self._offered("descriptor_map") & ~self._no_map
        m.d.comb += [
            self.descriptors.valid.eq(offered),
            self.descriptors.payload.map.eq(self._given("descriptor_map", "map")),
            self.descriptors.payload.descriptor.eq(Cat(held["descriptor"])),
            part.descriptors.valid.eq(offered & self.descriptors.ready),
            part.descriptors.payload.eq(self.descriptors.payload),
            part.offered.eq(self._offered("operation")),
            *(
                part.request[field].eq(self._given("operation", field))
                for field in ("command", "flags", "map", "engine")
            ),
            part.key.eq(Cat(held["operation_key"])),
            part.length.eq(held["operation_length"][0]),
            part.place.eq(held["operation_place"][0]),
            part.operand_word.eq(writes.address),
            part.operand_data.eq(writes.data),
            part.operand_write.eq(self._written & self._at("operand")),
            part.read_word.eq(self._axi.read_address),
            part.operand_row.eq(self.operand_row),
            self.operand.eq(part.operand),
            part.result_write.eq(self.result_write),
            part.result_row.eq(self.result_row),
            part.result_data.eq(self.result_data),
        ]
        wiring.connect(m, part.operations, wiring.flipped(self.operations))
        wiring.connect(m, part.results, wiring.flipped(self.results))

    def _connect_values(self, m: Module) -> None:
        part, held = self._values, self._held
        m.d.comb += [
            part.start.eq(self._written & self._at("access")),
            part.address.eq(held["access_address"][0]),
            part.size.eq(self._given("access", "bytes")),
            part.stores.eq(self._given("access", "stores")),
            part.data.eq(Cat(held["access_data"])),
        ]
        wiring.connect(m, part.accesses, wiring.flipped(self.accesses))
        wiring.connect(m, part.access_results, wiring.flipped(self.access_results))

    def _connect_counters(self, m: Module) -> None:
        part, bus = self._counters, self._axi
        for name in ("verdict_valid", "verdict_cause", "instructions", "event_taken"):
            for inner, outer in zip(getattr(part, name), getattr(self, name), strict=True):
                m.d.comb += inner.eq(outer)
        first = register(f"counter_{COUNTERS[0][0]}").address
        behind = first + 2 * len(COUNTERS)
        inside = (bus.read_address >= first) & (bus.read_address < behind)
        m.d.comb += [
            part.word.eq(bus.read_address - first),
            part.read.eq(bus.read_taken & inside),
        ]

    # Reading

    def _status(self) -> dict[str, list[Value]]:
        """What registers say that nobody writes, a word each."""
        programs, maps, values = self._programs, self._maps, self._values
        fields: dict[str, dict[str, Value]] = {
            "program_status": {"busy": programs.word_busy, "refused": programs.words_refused},
            "commit_status": {
                "busy": programs.commit_busy,
                "fault": programs.fault,
                "slot": programs.fault_slot,
            },
            "release_status": {"busy": programs.release_busy, "refused": programs.release_failed},
            "bind_status": {"busy": programs.bind_busy, "refused": programs.bind_failed},
            "operation_status": {"busy": maps.busy, "found": maps.result.found},
            "access_status": {"busy": values.busy, "cause": values.cause},
        }
        return {name: [_packed(register(name), given)] for name, given in fields.items()}

    def _read(self, m: Module) -> None:
        bus = self._axi
        verdict, result = self.default_verdict, self._maps.result.value
        loaded = self._values.result
        words = {
            **{
                entry.name: [Value.cast(entry.reset)]
                for entry in (register("magic"), register("version"))
            },
            **{
                f"limit_{name}": [Value.cast(int(getattr(self.config, name)))] for name, _ in LIMITS
            },
            **self._held,
            **self._status(),
            "default_verdict": [verdict[:WORD_BITS], verdict[WORD_BITS:]],
            "operation_result": [result[:WORD_BITS], result[WORD_BITS:]],
            "access_result": [loaded[:WORD_BITS], loaded[WORD_BITS:]],
        }
        with m.Switch(bus.read_address):
            for name, values in words.items():
                for at, value in enumerate(values):
                    with m.Case(register(name).address + at):
                        m.d.comb += bus.read_data.eq(value)
            with m.Default():
                with m.If(bus.read_address >= register("read_back").address):
                    m.d.comb += bus.read_data.eq(self._maps.read_data)
                with m.Else():
                    m.d.comb += bus.read_data.eq(self._counters.data)


def _upper(name: str) -> int:
    """Word address of the upper word of two."""
    return register(name).address + 1


def _packed(entry: Register, values: dict[str, Value]) -> Value:
    """A word of its fields."""
    word: Value = Value.cast(0)
    for name, value in values.items():
        word |= Value.cast(value) << entry.field(name).low
    return word
