import pytest

from fanweave.golden.cxl.messages import message
from fanweave.golden.isa.cxl_event import BirspOpcode, BisnpOpcode, Channel, DrsOpcode, ReqOpcode
from fanweave.golden.isa.cxl_switch import MoveStep
from fanweave.hw.cxl.payloads import Moving
from fanweave.sim.benches.cxl.message_texts import MessageTexts, MoveTexts, message_text


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (
            message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=65, tag=18, ld_id=1),
            "MEM_RD 0x1040 tag 0x12 ld 1",
        ),
        (
            message(Channel.S2M_DRS, opcode=DrsOpcode.MEM_DATA, tag=3, poison=1),
            "MEM_DATA tag 0x3 ld 0 poison",
        ),
        (
            message(Channel.S2M_BISNP, opcode=BisnpOpcode.INV, address=2, bi_id=4, bi_tag=16),
            "INV 0x80 bi 4.0x10",
        ),
        (
            message(Channel.M2S_BIRSP, opcode=BirspOpcode.I, bi_id=2, bi_tag=1, low_address=3),
            "I bi 2.0x1 line 3",
        ),
        (message(Channel.M2S_REQ, opcode=15), "opcode 15 0x0 tag 0x0 ld 0"),
    ],
)
def test_a_message_in_a_few_words(sent, text):
    assert message_text(sent) == text
    assert MessageTexts(sent.channel).get(sent.pack()) == text


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (MoveStep.NONE, ""),
        (MoveStep.BEGIN, "BEGIN host 1 page 0x8000 to port 3 ld 2"),
        (MoveStep.FLIP, "FLIP host 1 page 0x8000 group 5 to port 3 ld 2"),
    ],
)
def test_a_step_of_a_move_in_a_few_words(step, text):
    values = {"step": step, "host": 1, "page": 8, "group": 5, "port": 3, "ld_id": 2}
    bits = Moving.const(values).as_value().value
    assert MoveTexts().get(bits) == text
