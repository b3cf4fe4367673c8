"""Vector instructions that mix elements: slides, gathers, masks, reductions, scalar moves."""

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.hw.core.payloads import OffloadResult
from fanweave.hw.vector.config import VectorConfig
from fanweave.hw.vector.instruction import vector_instruction
from fanweave.hw.vector.payloads import read_port, write_port
from fanweave.hw.vector.permute_engine import PermuteEngine
from fanweave.hw.vector.permute_float import FloatReduceEngine
from fanweave.hw.vector.permute_gather import ElementEngine, GatherEngine, SplatEngine
from fanweave.hw.vector.permute_iota import IotaEngine
from fanweave.hw.vector.permute_mask import MaskEngine
from fanweave.hw.vector.permute_operations import PermuteDecoder, PermuteOperation, is_floating
from fanweave.hw.vector.permute_reduce import ReduceEngine
from fanweave.hw.vector.permute_slide import SlideEngine

__all__ = ["PermuteUnit"]

_O = PermuteOperation
#: Name, kind and operations of each engine.
_ENGINES: tuple[tuple[str, type[PermuteEngine], tuple[PermuteOperation, ...]], ...] = (
    (
        "slide",
        SlideEngine,
        (_O.SLIDE_UP, _O.SLIDE_DOWN, _O.SLIDE_ONE_UP, _O.SLIDE_ONE_DOWN, _O.MOVE_REGISTERS),
    ),
    ("gather", GatherEngine, (_O.GATHER, _O.GATHER_16, _O.COMPRESS)),
    ("splat", SplatEngine, (_O.GATHER_ONE,)),
    ("element", ElementEngine, (_O.TO_SCALAR, _O.FROM_SCALAR)),
    ("mask", MaskEngine, tuple(_O(number) for number in range(_O.MASK_AND, _O.IOTA))),
    ("iota", IotaEngine, (_O.IOTA, _O.IDENTITY)),
    ("reduce", ReduceEngine, tuple(_O(number) for number in range(_O.SUM, _O.FLOAT_SUM))),
    (
        "float_reduce",
        FloatReduceEngine,
        (_O.FLOAT_SUM, _O.FLOAT_MIN, _O.FLOAT_MAX, _O.FLOAT_WIDE_SUM),
    ),
)
_SCALAR = (_O.TO_SCALAR, _O.COUNT, _O.FIRST)


class PermuteUnit(wiring.Component):
    """Executes one instruction after the other, in the engine for it.

    Parameters
    ----------
    config : VectorConfig

    Members
    -------
    instructions : stream in of `vector_instruction`
    mask : In(vlen)
        v0; held until the instruction is finished, if it is the mask.
    vs2, vs1, vd : read ports
        Of the operands, and of the destination where only some bits of a byte are written.
    write : write port
    results : stream out of `OffloadResult`
        Of each instruction with a scalar destination, once.
    finished : Out(1); slot : Out
        An instruction is over: its registers are read and written, its result is taken.
    flags : Out(5)
        With ``finished``: its exceptions.
    """

    def __init__(self, *, config: VectorConfig) -> None:
        self.config = config
        super().__init__(
            {
                "instructions": In(stream.Signature(vector_instruction(config))),
                "mask": In(config.vlen),
                "vs2": Out(read_port(config)),
                "vs1": Out(read_port(config)),
                "vd": Out(read_port(config)),
                "write": Out(write_port(config)),
                "results": Out(stream.Signature(OffloadResult)),
                "finished": Out(1),
                "slot": Out(unsigned((config.slots - 1).bit_length())),
                "flags": Out(5),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        instruction = Signal(vector_instruction(config))
        operation, masked, runs = Signal(PermuteOperation), Signal(), Signal()
        m.submodules.decoder = decoder = PermuteDecoder()
        vlmax = Signal(config.vlen.bit_length())
        group_bytes = Signal(config.vlen.bit_length())
        lmul = instruction.lmul
        done, value, flags = Signal(), Signal(32), Signal(5)
        gives, given = Signal(), Signal()
        m.d.comb += [
            decoder.word.eq(self.instructions.payload.word),
            group_bytes.eq(
                Mux(
                    lmul[2],
                    (config.vlen // 8) >> (-lmul.as_signed())[:2],
                    (config.vlen // 8) << lmul[:2],
                )
            ),
            vlmax.eq(group_bytes >> instruction.sew),
            self.instructions.ready.eq(~runs & ~given),
            gives.eq(operation.matches(*_SCALAR)),
            self.finished.eq(Mux(gives, self.results.valid & self.results.ready, runs & done)),
            self.slot.eq(instruction.slot),
            self.flags.eq(flags),
            self.results.valid.eq(given),
            self.results.payload.floating.eq(is_floating(instruction.word)),
            self.results.payload.register.eq(instruction.word[7:12]),
        ]
        with m.If(self.instructions.valid & self.instructions.ready):
            m.d.sync += [
                instruction.eq(self.instructions.payload),
                operation.eq(decoder.operation),
                masked.eq(decoder.masked),
                runs.eq(1),
            ]
        with m.If(runs & done):
            m.d.sync += [runs.eq(0), given.eq(gives), self.results.payload.value.eq(value)]
        with m.If(self.results.valid & self.results.ready):
            m.d.sync += given.eq(0)
        for name, kind, operations in _ENGINES:
            m.submodules[name] = engine = kind(config=config)
            m.d.comb += [
                engine.active.eq(runs & operation.matches(*operations)),
                engine.operation.eq(operation),
                engine.instruction.eq(instruction),
                engine.masked.eq(masked),
                engine.mask.eq(self.mask),
                engine.vlmax.eq(vlmax),
            ]
            self._give(m, engine)
            with m.If(engine.active):
                m.d.comb += [done.eq(engine.done), value.eq(engine.value), flags.eq(engine.flags)]
        return m

    def _give(self, m: Module, engine: PermuteEngine) -> None:
        """The ports, to the engine that is active."""
        for name in ("vs2", "vs1", "vd"):
            port, inner = getattr(self, name), getattr(engine, name)
            m.d.comb += [inner.ready.eq(port.ready), inner.value.eq(port.value)]
            with m.If(engine.active):
                m.d.comb += [port.valid.eq(inner.valid), port.address.eq(inner.address)]
        m.d.comb += engine.write.ready.eq(self.write.ready)
        with m.If(engine.active):
            m.d.comb += [
                self.write.valid.eq(engine.write.valid),
                self.write.address.eq(engine.write.address),
                self.write.value.eq(engine.write.value),
                self.write.enable.eq(engine.write.enable),
            ]
