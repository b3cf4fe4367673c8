from fanweave.golden.cxl.messages import message
from fanweave.golden.isa.cxl_event import Channel, ReqOpcode, RwdOpcode
from fanweave.sim.benches.cxl.latencies import Flow, Latencies
from fanweave.sim.benches.cxl.records import Gave, Record, Took

READ = message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, snoop=3, tag=1)
WRITE = message(Channel.M2S_RWD, opcode=RwdOpcode.MEM_WR, tag=2)
DATA = message(Channel.S2M_DRS, tag=1)
STATE = message(Channel.S2M_NDR, tag=1)


def test_a_request_takes_until_its_last_answer():
    records = [
        Record(10, Took(0, READ)),
        Record(11, Took(1, WRITE)),
        Record(14, Gave(3, WRITE)),
        Record(20, Gave(0, DATA)),
        Record(25, Gave(0, STATE)),
        Record(31, Gave(1, STATE.changed(tag=2))),
        Record(40, Took(0, READ)),
        Record(45, Gave(0, STATE)),
        Record(60, Gave(0, DATA)),
    ]
    latencies = Latencies()
    assert list(latencies.through(records)) == records
    assert latencies.flows() == [
        Flow(host=0, opcode="MEM_RD", requests=2, mean=17.5, p99=20, most=20),
        Flow(host=1, opcode="MEM_WR", requests=1, mean=20, p99=20, most=20),
    ]
