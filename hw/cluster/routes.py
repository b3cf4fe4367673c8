"""Where requests of cores, vector units and the host go."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanweave.golden.isa.cluster import RegionName
from fanweave.hw.cluster.payloads import HostResponse, WordRequest
from fanweave.hw.core.address_map import in_region
from fanweave.hw.core.payloads import DataRequest, DataResponse
from fanweave.hw.vector.memory_payloads import VectorRequest

__all__ = ["ScalarRoute", "WordRoute", "word_port"]


def word_port() -> dict[str, wiring.Member]:
    """Members for requests to the L1 and to the instruction memory, and their answers.

    An answer comes in the cycle after its request was taken: so answers from different places
    are in the order of requests.
    """
    requests, answers = stream.Signature(WordRequest), stream.Signature(unsigned(64))
    return {
        "l1": Out(requests),
        "l1_answers": In(answers),
        "instructions": Out(requests),
        "instructions_answers": In(answers),
    }


class ScalarRoute(wiring.Component):
    """Splits a core's loads and stores by their address.

    Members
    -------
    requests, responses
        As of `Core`.
    l1, l1_answers, instructions, instructions_answers
        See `word_port`.
    peripherals : stream out of `DataRequest`; peripherals_answers : stream in of `DataResponse`
        All that is no memory.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "requests": In(stream.Signature(DataRequest)),
                "responses": Out(stream.Signature(DataResponse)),
                **word_port(),
                "peripherals": Out(stream.Signature(DataRequest)),
                "peripherals_answers": In(stream.Signature(DataResponse)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, response = self.requests.payload, self.responses.payload
        high, was_high = request.address[2], Signal()
        in_l1, in_code = Signal(), Signal()
        m.d.comb += [
            in_l1.eq(in_region(request.address, RegionName.L1)),
            in_code.eq(in_region(request.address, RegionName.INSTRUCTIONS)),
            self.peripherals.payload.eq(request),
            self.peripherals.valid.eq(self.requests.valid & ~in_l1 & ~in_code),
            self.requests.ready.eq(
                Mux(
                    in_l1,
                    self.l1.ready,
                    Mux(in_code, self.instructions.ready, self.peripherals.ready),
                )
            ),
            self.peripherals_answers.ready.eq(1),
            response.error.eq(
                self.peripherals_answers.valid & self.peripherals_answers.payload.error
            ),
        ]
        with m.If(self.requests.valid & self.requests.ready):
            m.d.sync += was_high.eq(high)
        found: Value = Mux(self.peripherals_answers.valid, self.peripherals_answers.payload.data, 0)
        valid: Value = self.peripherals_answers.valid
        for port, answers, here in (
            (self.l1, self.l1_answers, in_l1),
            (self.instructions, self.instructions_answers, in_code),
        ):
            m.d.comb += [
                port.valid.eq(self.requests.valid & here),
                port.payload.address.eq(Cat(Const(0, 3), request.address[3:])),
                port.payload.write.eq(request.write),
                port.payload.lock.eq(request.lock),
                port.payload.mask.eq(Mux(high, request.mask << 4, request.mask)),
                port.payload.data.eq(request.data.replicate(2)),
                answers.ready.eq(1),
            ]
            word = Mux(was_high, answers.payload[32:], answers.payload[:32])
            found, valid = found | Mux(answers.valid, word, 0), valid | answers.valid
        m.d.comb += [response.data.eq(found), self.responses.valid.eq(valid)]
        return m


class WordRoute(wiring.Component):
    """Splits accesses of 64 bits by their address.

    Members
    -------
    requests : stream in of `VectorRequest`; responses : stream out of `HostResponse`
        Must be taken.
    l1, l1_answers, instructions, instructions_answers
        See `word_port`.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "requests": In(stream.Signature(VectorRequest)),
                "responses": Out(stream.Signature(HostResponse)),
                **word_port(),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, response = self.requests.payload, self.responses.payload
        in_l1, in_code, missing = Signal(), Signal(), Signal()
        m.d.comb += [
            in_l1.eq(in_region(request.address, RegionName.L1)),
            in_code.eq(in_region(request.address, RegionName.INSTRUCTIONS)),
            self.requests.ready.eq(Mux(in_l1, self.l1.ready, ~in_code | self.instructions.ready)),
            response.error.eq(missing),
        ]
        m.d.sync += missing.eq(self.requests.valid & ~in_l1 & ~in_code)
        found: Value = Const(0, 64)
        valid: Value = missing
        for port, answers, here in (
            (self.l1, self.l1_answers, in_l1),
            (self.instructions, self.instructions_answers, in_code),
        ):
            m.d.comb += [
                port.valid.eq(self.requests.valid & here),
                port.payload.address.eq(request.address),
                port.payload.write.eq(request.write),
                port.payload.mask.eq(request.mask),
                port.payload.data.eq(request.data),
                answers.ready.eq(1),
            ]
            found = found | Mux(answers.valid, answers.payload, 0)
            valid = valid | answers.valid
        m.d.comb += [response.data.eq(found), self.responses.valid.eq(valid)]
        return m
