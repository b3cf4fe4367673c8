"""Widths, answers and errors of CXL.mem messages, and the switch's registers."""

import pytest

from fanweave.golden.cxl.config import PRESETS, SwitchConfig
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import Channel, DrsOpcode, NdrOpcode, ReqOpcode, RwdOpcode
from fanweave.golden.isa.cxl_messages import (
    ANSWERS,
    MESSAGES,
    OPCODES,
    Snoop,
    answers_of,
    error_answers,
)

NDR, DRS = Channel.S2M_NDR, Channel.S2M_DRS


@pytest.mark.parametrize(
    ("channel", "bits", "trailer"),
    [
        (Channel.M2S_REQ, 100, 0),
        (Channel.M2S_RWD, 104, 512 + 64),
        (Channel.M2S_BIRSP, 40, 0),
        (NDR, 40, 0),
        (DRS, 40, 512),
        (Channel.S2M_BISNP, 80, 0),
    ],
)
def test_messages_have_the_specified_widths(channel, bits, trailer):
    assert MESSAGES[channel].header_bits == bits
    assert sum(field.bits for field in MESSAGES[channel].trailer) == trailer


def test_every_opcode_fits_and_every_request_has_its_answers():
    for channel, opcodes in OPCODES.items():
        (width,) = (field.bits for field in MESSAGES[channel].fields if field.name == "opcode")
        assert all(opcode < 1 << width for opcode in opcodes)
    for channel, answers in ANSWERS.items():
        assert set(answers) == set(OPCODES[channel])


def test_a_read_that_snoops_is_answered_twice():
    read = ReqOpcode.MEM_RD
    assert answers_of(Channel.M2S_REQ, read, Snoop.NO_OP) == {DRS}
    assert answers_of(Channel.M2S_REQ, read, Snoop.INVALIDATE) == {DRS, NDR}
    assert answers_of(Channel.M2S_REQ, ReqOpcode.MEM_INV, Snoop.INVALIDATE) == {NDR}
    assert answers_of(Channel.M2S_REQ, ReqOpcode.MEM_SPEC_RD, Snoop.NO_OP) == set()
    assert answers_of(Channel.M2S_REQ, 15, Snoop.NO_OP) == set()


def test_errors_say_what_is_wrong_with_the_data():
    absent = error_answers(Channel.M2S_REQ, ReqOpcode.MEM_RD, Snoop.NO_OP, lost=False)
    assert absent == {DRS: {"opcode": DrsOpcode.MEM_DATA_NXM, "poison": 0, "data": 2**512 - 1}}
    lost = error_answers(Channel.M2S_REQ, ReqOpcode.MEM_RD, Snoop.NO_OP, lost=True)
    assert lost == {DRS: {"opcode": DrsOpcode.MEM_DATA, "poison": 1, "data": 0}}
    write = error_answers(Channel.M2S_RWD, RwdOpcode.MEM_WR, Snoop.NO_OP, lost=True)
    assert write == {NDR: {"opcode": NdrOpcode.CMP}}
    conflict = error_answers(Channel.M2S_RWD, RwdOpcode.BI_CONFLICT, Snoop.NO_OP, lost=False)
    assert conflict == {NDR: {"opcode": NdrOpcode.BI_CONFLICT_ACK}}


@pytest.mark.parametrize(
    "config",
    [
        *PRESETS.values(),
        SwitchConfig(upstream=4, downstream=8, decoders=8, bindings=16, rules=8),
    ],
)
def test_registers_are_apart_and_their_fields_fit(config):
    registers = config.registers
    assert len({register.address for register in registers}) == len(registers)
    assert len({register.name for register in registers}) == len(registers)
    assert all(register.address < 1 << 10 for register in registers)
    for register in registers:
        end = 0
        for field in register.fields:
            assert field.low >= end
            end = field.low + field.width
        assert end <= 32


def test_illegal_parameters_are_named():
    with pytest.raises(InputError, match="credits = 24 is illegal; it must be a power of two"):
        SwitchConfig(credits=24)
    with pytest.raises(InputError, match="upstream = 5 is illegal; it must be an integer from 1"):
        SwitchConfig(upstream=5)
