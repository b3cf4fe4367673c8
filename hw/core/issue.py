"""Decodes instructions, reads their operands, and holds them back until these are there."""

from amaranth import Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.decoder import Controls, Decoder
from fanweave.hw.core.payloads import Fetched
from fanweave.hw.core.registers import RegisterFile, Scoreboard

__all__ = ["Issue", "Issued", "Pending", "Write"]


class Issued(data.Struct):
    """An instruction with its operands.

    ``register`` is where an integer result that is there at once goes: rs1 of a post-increment
    load, rd otherwise.
    """

    controls: Controls
    fetched: Fetched
    immediate: unsigned(32)
    rs1: unsigned(32)
    rs2: unsigned(32)
    fs1: unsigned(32)
    fs2: unsigned(32)
    fs3: unsigned(32)
    register: unsigned(5)


class Write(data.Struct):
    """A value for a register."""

    enable: unsigned(1)
    register: unsigned(5)
    value: unsigned(32)


class Pending(data.Struct):
    """A register whose result comes later than its instruction completes; ``load``: from memory."""

    x: unsigned(1)
    f: unsigned(1)
    load: unsigned(1)
    register: unsigned(5)


class Issue(wiring.Component):
    """The stage before execution. Nothing is held here: the stage after it has the register.

    An instruction goes on when none of its registers, sources and destination, waits for a
    result. A result that is written in this cycle is there.

    Members
    -------
    instructions : stream in of `Fetched`
    issued : stream out of `Issued`
        Changes when what is fetched is redirected.
    ahead : In of `Pending`
        What the instruction in execution leaves to be written later.
    begins : In of `Pending`
        That it completes: the register waits from now on.
    x, late_x, late_f : In of `Write`
        Results: of the instruction in execution, and of units.
    waits_for_load, waits_for_unit : Out(1)
        Why an instruction is held back.
    """

    instructions: In(stream.Signature(Fetched))
    issued: Out(stream.Signature(Issued))
    ahead: In(Pending)
    begins: In(Pending)
    x: In(Write)
    late_x: In(Write)
    late_f: In(Write)
    waits_for_load: Out(1)
    waits_for_unit: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fetched = self.instructions.payload
        word = fetched.word
        m.submodules.decoder = decoder = Decoder()
        m.d.comb += decoder.word.eq(word)
        controls, out = decoder.controls, self.issued.payload
        self._registers(m, word)
        rd, rs1 = word[7:12], word[15:20]
        asks_x = (controls.reads_rs1, controls.reads_rs2, controls.writes_x)
        asks_f = (controls.reads_fs1, controls.reads_fs2, controls.reads_fs3, controls.writes_f)
        waits, loading = Signal(), Signal()
        for wanted, ahead, board in (
            (asks_x, self.ahead.x, self._x_board),
            (asks_f, self.ahead.f, self._f_board),
        ):
            for asks, number, pending, from_memory in zip(
                wanted, board.register, board.pending, board.loading, strict=True
            ):
                next_to = ahead & (self.ahead.register == number)
                with m.If(asks & (pending | next_to) & controls.legal & ~fetched.fault):
                    m.d.comb += waits.eq(1)
                    with m.If(from_memory | (next_to & self.ahead.load)):
                        m.d.comb += loading.eq(1)
        m.d.comb += [
            out.controls.eq(controls),
            out.fetched.eq(fetched),
            out.immediate.eq(decoder.immediate),
            out.register.eq(rd),
            self.issued.valid.eq(self.instructions.valid & ~waits),
            self.instructions.ready.eq(self.issued.ready & ~waits),
            self.waits_for_load.eq(self.instructions.valid & waits & loading),
            self.waits_for_unit.eq(self.instructions.valid & waits & ~loading),
        ]
        with m.If(controls.post_increment):
            m.d.comb += out.register.eq(rs1)
        return m

    def _registers(self, m: Module, word: Value) -> None:
        """Both register files and their scoreboards, with the fields of the instruction."""
        rd, rs1, rs2, rs3 = word[7:12], word[15:20], word[20:25], word[27:32]
        out = self.issued.payload
        m.submodules.x_file = x_file = RegisterFile(reads=2, writes=2, zero=True)
        m.submodules.f_file = f_file = RegisterFile(reads=3, writes=1, zero=False)
        m.submodules.x_board = self._x_board = Scoreboard(asks=3)
        m.submodules.f_board = self._f_board = Scoreboard(asks=4)
        for file, numbers, values in (
            (x_file, (rs1, rs2), (out.rs1, out.rs2)),
            (f_file, (rs1, rs2, rs3), (out.fs1, out.fs2, out.fs3)),
        ):
            for place, (number, value) in enumerate(zip(numbers, values, strict=True)):
                m.d.comb += [
                    file.read_register[place].eq(number),
                    value.eq(file.read_value[place]),
                ]
        for board, asked in (
            (self._x_board, (rs1, rs2, rd)),
            (self._f_board, (rs1, rs2, rs3, rd)),
        ):
            for place, number in enumerate(asked):
                m.d.comb += board.register[place].eq(number)
        for file, place, write in (
            (x_file, 0, self.x),
            (x_file, 1, self.late_x),
            (f_file, 0, self.late_f),
        ):
            m.d.comb += [
                file.write_enable[place].eq(write.enable),
                file.write_register[place].eq(write.register),
                file.write_value[place].eq(write.value),
            ]
        for board, begins, write in (
            (self._x_board, self.begins.x, self.late_x),
            (self._f_board, self.begins.f, self.late_f),
        ):
            m.d.comb += [
                board.set_enable.eq(begins),
                board.set_register.eq(self.begins.register),
                board.set_load.eq(self.begins.load),
                board.clear_enable.eq(write.enable),
                board.clear_register.eq(write.register),
            ]
