"""The reference runtime of a DPU: its event loop and its network interface."""

import pytest

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.fabric.graph import Place, PlaceKind
from fanweave.sw.fabric.build import build_unit
from fanweave.sw.fabric.dputime.nic import Nic, Transfer
from fanweave.sw.fabric.dputime.runtime import MOST_HOLDS, DpuTime
from fanweave.sw.fabric.unit import PlannedProgram, Unit

HEAD = '#include <fanweave/dpu.h>\nSEC("dpu") __u64 decide(struct dpu_transfer *t) {\n'


def start(body):
    """A runtime with a program; 8 Gbit/s are a byte a nanosecond."""
    unit = Unit(
        place=Place(name="dpu", kind=PlaceKind.DPU),
        source=f"{HEAD}{body}\n}}\n",
        programs=(PlannedProgram(name="decide", section="dpu", steps=(), movements=()),),
        contents={},
        attach={
            "context_bytes": 64,
            "program": "decide",
            "nic": {"gbit_s": 8, "latency_ns": 100},
        },
    )
    return DpuTime(build_unit(unit))


def transfer(number, size=1000, posted_ns=0, **more):
    fields = {"tenant": 0, "source": 0, "target": 1, "address": 0}
    return Transfer(movement=number, size=size, posted_ns=posted_ns, **fields, **more)


def order(finished):
    return [(each.movement, each.arrived_ns) for each in finished]


def test_one_at_a_time_on_the_link():
    runtime = start("return dpu_send(0);")
    finished = runtime.run([transfer(0), transfer(1, posted_ns=10), transfer(2, posted_ns=5000)])
    assert order(finished) == [(0, 1100), (1, 2100), (2, 6100)]
    # A call when it is posted and one when it arrived.
    assert len(runtime.instructions) == 6
    assert runtime.nic.waiting_bytes == 0


def test_a_lower_queue_goes_first_but_interrupts_nothing():
    runtime = start("return dpu_send(t->priority == 7 ? 0 : 3);")
    posted = [transfer(0), transfer(1, posted_ns=1), transfer(2, posted_ns=2, priority=7)]
    assert order(runtime.run(posted)) == [(0, 1100), (2, 2100), (1, 3100)]


def test_holds_are_asked_again_until_there_have_been_too_many():
    runtime = start(
        "if (t->movement) return dpu_hold(0);\nreturn t->held < 2 ? dpu_hold(50) : dpu_send(0);"
    )
    first, second = runtime.run([transfer(0), transfer(1)])
    assert (first.movement, first.rejected, first.held) == (1, True, MOST_HOLDS)
    assert (second.movement, second.arrived_ns, second.held) == (0, 1200, 2)


def test_rejections_do_not_reach_the_link():
    (finished,) = start("return dpu_reject();").run([transfer(0)])
    assert (finished.rejected, finished.arrived_ns, finished.queue) == (True, -1, -1)


def test_the_program_sees_time_and_what_waits():
    runtime = start(
        "if (t->event == DPU_EVENT_DONE)\nreturn dpu_send(0);\n"
        "return t->waiting_bytes >= 700 && bpf_ktime_get_ns() == 9 ? dpu_reject() : dpu_send(1);"
    )
    finished = runtime.run(
        [transfer(0), transfer(1, size=700, posted_ns=5), transfer(2, posted_ns=9)]
    )
    assert [(each.movement, each.rejected) for each in finished] == [
        (2, True),
        (0, False),
        (1, False),
    ]


def test_r0_that_is_no_verdict_is_a_fault():
    with pytest.raises(FaultError, match="DPU 'dpu': r0 = 0xff is no verdict"):
        start("return 255;").run([transfer(0)])


def test_a_link_needs_a_rate():
    with pytest.raises(InputError, match="gbit_s = 0; a link needs 1 or more"):
        Nic(gbit_s=0, latency_ns=1)
    assert Nic(gbit_s=3, latency_ns=1).time_ns(transfer(0, size=1)) == 3


def test_the_same_transfers_end_the_same(shipped):
    def once():
        runtime = DpuTime(shipped.built["dpu0"])
        posted = [
            Transfer(
                movement=6 + n % 2, tenant=n % 2, source=0, target=1, size=60_000, posted_ns=10 * n,
                address=shipped.graph.objects["kv_a" if n % 2 == 0 else "kv_b"].first,
                deadline_ns=10_000 + n,
            )
            for n in range(8)
        ]  # fmt: skip
        finished = runtime.run(posted)
        held = {each.tenant for each in finished if each.held}
        return order(finished), held, runtime.instructions

    assert once() == once()
    # 80 Gbit/s a tenant: with the burst gone, both must wait.
    assert once()[1] == {0, 1}
