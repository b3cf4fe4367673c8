"""Templates of a DPU: what is decided about transfers, and what their maps say afterwards."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.graph import Direction, Movement, Place, PlaceKind
from fanweave.golden.fabric.routes import Network
from fanweave.golden.isa.dpu_event import DpuAction, DpuEvent, decode_dpu_verdict, encode_transfer
from fanweave.sw.fabric.compile import compile_graph, plan_graph
from fanweave.sw.fabric.dpu import host_numbers, plan_dpu, tenant_numbers

KV = 0x10_0000
SEND, HOLD, REJECT = DpuAction.SEND, DpuAction.HOLD, DpuAction.REJECT
#: Numbers of the movements.
URGENT, BULK = 3, 4


@pytest.fixture
def sending(small_graph):
    """The small graph with sends through one DPU or more."""

    def make(*goals, vias=("dpu", "dpu"), urgent_ns=20_000):
        base = small_graph(*goals)
        numbered = zip(("urgent", "bulk"), vias, (urgent_ns, 0), strict=True)
        sends = tuple(
            Movement(
                name=name,
                object="kv",
                producer="gpu",
                consumer="npu",
                via=via,
                size=0x1000,
                direction=Direction.SEND,
                deadline_ns=deadline,
            )
            for name, via, deadline in numbered
        )
        places = (
            *base.places.values(),
            *(Place(name=name, kind=PlaceKind.DPU) for name in dict.fromkeys(vias)),
        )
        movements = (*base.movements.values(), *sends)
        return small_graph(*goals, places=places, movements=movements)

    return make


@pytest.fixture
def ask(sending, device):
    """A DPU that is asked: ``ask(goals)(time_ns, **transfer)``."""

    def start(*goals):
        compilation = compile_graph(sending(*goals))
        dpu = device(compilation.built["dpu"])

        def one(time_ns, **fields):
            context = encode_transfer(**{"address": KV, "bytes": 1000, **fields})
            return decode_dpu_verdict(dpu.run("transfers", context, time_ns=time_ns))

        return dpu, one

    return start


def test_a_tenant_that_sends_more_than_its_share_is_held(ask, goal):
    # 8 Mbit/s are 1000 bytes a ms.
    dpu, one = ask(goal("isolate_tenants", share_mbit_s=8, burst=1500))
    assert one(1) == (SEND, 0, 0)
    assert one(1) == (SEND, 0, 0)
    # 500 bytes are missing, which take half a ms; one ns more makes up for what is rounded off.
    assert one(1) == (HOLD, 0, 500_001)
    assert one(500_002, event=DpuEvent.AGAIN) == (SEND, 0, 0)
    assert dpu.values("buckets")[0] == {
        "bytes": -1000,
        "filled_ns": 500_002,
        "held": 1,
        "rejected": 0,
    }
    # However long it waits, it saves up no more than the burst.
    assert one(10**9)[0] is SEND
    assert dpu.values("buckets")[0]["bytes"] == 500


def test_what_is_none_of_a_tenants_is_rejected(ask, goal):
    dpu, one = ask(goal("isolate_tenants"))
    assert one(1) == (SEND, 0, 0)
    assert one(1, address=KV + 0x4000) == (REJECT, 0, 0)
    assert one(1, tenant=1) == (REJECT, 0, 0)
    assert one(1, tenant=200) == (REJECT, 0, 0)
    assert {n: b["rejected"] for n, b in dpu.values("buckets").items()} == {0: 1, 1: 1}


def test_queues_follow_what_is_left_until_the_deadline(ask, goal):
    _, one = ask(goal("bound_tail_latency", "kv", bound_ns=1000))
    now = 50_000
    assert one(now, movement=URGENT, deadline_ns=now + 999) == (SEND, 0, 0)
    assert one(now, movement=URGENT, deadline_ns=now - 1) == (SEND, 0, 0)
    assert one(now, movement=URGENT, deadline_ns=now + 1000) == (SEND, 1, 0)
    assert one(now, movement=URGENT, deadline_ns=now + 4000) == (SEND, 2, 0)
    assert one(now, movement=BULK, priority=4) == (SEND, 2, 0)
    assert one(now, movement=BULK, priority=3) == (SEND, 3, 0)


def test_attention_of_the_source_comes_first(ask, goal):
    dpu, one = ask(goal("bound_tail_latency", "kv"))
    assert one(1, movement=BULK, priority=7, phase=2) == (SEND, 2, 0)
    dpu.put("phases", {1: {"active": 1}})  # attention of host 0
    assert one(1, movement=BULK, priority=7, phase=2) == (SEND, 3, 0)
    assert one(1, movement=BULK, priority=7, phase=1) == (SEND, 2, 0)
    assert one(1, movement=BULK, priority=7, phase=2, source=1) == (SEND, 2, 0)


def test_the_price_of_an_island_holds_what_is_not_urgent_once(ask, goal):
    dpu, one = ask(goal("bound_tail_latency", "kv"))
    # Port 3 leads to the memory of the object.
    assert dpu.values("price_at") == {URGENT: 4, BULK: 4}
    dpu.put("island_prices", {3: 8})
    assert one(1, movement=BULK) == (HOLD, 0, 800)
    assert one(801, movement=BULK, held=1, event=DpuEvent.AGAIN) == (SEND, 3, 0)
    assert one(1, movement=URGENT, deadline_ns=500) == (SEND, 0, 0)
    dpu.put("island_prices", {3: 1 << 30})
    assert one(1, movement=BULK) == (HOLD, 0, 1_000_000)


def test_arrivals_are_counted_by_movement(ask, goal):
    dpu, one = ask(goal("bound_tail_latency", "kv"), goal("isolate_tenants"))
    done = {"event": DpuEvent.DONE}
    one(100, movement=URGENT, deadline_ns=100, **done)
    one(101, movement=URGENT, deadline_ns=100, **done)
    one(101, movement=BULK, **done)
    one(101, movement=64, **done)
    assert dpu.values("met") == {URGENT: {"in_time": 1, "late": 1}, BULK: {"in_time": 1, "late": 0}}
    assert dpu.values("buckets") == {}


def test_a_share_has_one_owner(sending, goal):
    with pytest.raises(InputError) as refused:
        plan_graph(sending(goal("isolate_tenants", share_mbit_s=8), vias=("dpu", "other")))
    message = str(refused.value)
    assert (
        "movements 'urgent' by 'dpu' and 'bulk' by 'other' spend the share of tenant ''" in message
    )
    assert "which has one owner; send both by one DPU, or leave share_mbit_s out" in message
    # Without a share nothing is counted, and each DPU knows its own.
    units, _ = plan_graph(sending(goal("isolate_tenants"), vias=("dpu", "other")))
    assert {"dpu", "other"} <= set(units)


def test_numbers(shipped):
    assert tenant_numbers(shipped.graph) == {"a": 0, "b": 1, "": 2}
    assert host_numbers(shipped.graph) == {"gpu0": 0, "gpu1": 1, "cluster0": 2, "dpu0": 3}


def test_programs_know_so_many_movements(small_graph, sending, goal):
    base = sending(goal("isolate_tenants"))
    many = tuple(
        Movement(
            name=f"m{n}", object="kv", producer="gpu", consumer="npu", via="dpu", size=64,
            direction=Direction.SEND,
        )
        for n in range(65)
    )  # fmt: skip
    graph = small_graph(goal("isolate_tenants"), places=tuple(base.places.values()), movements=many)
    with pytest.raises(InputError, match="it has 65 movements; programs of a DPU know 64: split"):
        plan_graph(graph)


def test_a_dpu_has_one_goal_of_a_kind(sending, goal):
    graph = sending(goal("bound_tail_latency", "kv"), goal("bound_tail_latency", "weights"))
    with pytest.raises(InputError, match="'dpu' has 2 goals bound_tail_latency; put all their"):
        plan_dpu(graph, Network(graph), graph.places["dpu"])
