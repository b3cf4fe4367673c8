"""Programs of an island: what each goal's step decides, and how steps are joined."""

import pytest

from fanweave.golden.ebpf.linux import why_unavailable
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import DevLoad, Verdict, VerdictAction
from fanweave.sw.ebpf.verifier.kernel import linux_verifier
from fanweave.sw.fabric.compile import compile_graph, plan_graph

PASS = Verdict(action=VerdictAction.PASS)
DENY = Verdict(action=VerdictAction.DENY)
LINE = 64
#: Ports of the island of the small graph, and where its objects lie.
GPU, NPU, NEAR, FAR = range(4)
KV, WEIGHTS = 0x10_0000, 0x20_0000


def to(action, island):
    return Verdict(action=VerdictAction[action], island=island)


def test_steer_objects_redirects_and_mirrors(island, goal):
    device = island(goal("steer_objects", "kv", mirror=1))
    assert device.read("kv_requests", KV, island=NEAR) == to("REDIRECT", FAR)
    assert device.read("kv_requests", KV) == PASS
    assert device.write("kv_requests", KV) == to("MIRROR", NEAR)
    assert device.read("kv_requests", KV + 0x4000) == PASS
    kinds = device.values("traffic")
    assert kinds == {0: {"read": 1, "written": 0}, 1: {"read": 2, "written": 1}}


def test_isolate_tenants_denies_what_no_movement_does(island, goal):
    device = island(goal("isolate_tenants"))
    ask = "other_requests"
    assert device.write(ask, KV) == device.read(ask, KV + 0x3FC0) == PASS
    assert device.read(ask, KV + 0x4000) == DENY
    assert device.write(ask, WEIGHTS, port=NPU) == DENY
    assert device.read(ask, WEIGHTS, port=NPU) == PASS
    assert device.read(ask, KV, port=NPU) == DENY
    assert device.values("denied") == {GPU: 1, NPU: 2}


def test_keep_hot_near_asks_for_a_page_once(island, goal):
    device = island(goal("keep_hot_near", "kv", near="near", threshold=3))
    ask = "kv_requests"
    verdicts = [device.read(ask, KV + LINE * n) for n in range(5)]
    assert verdicts == [PASS, PASS, to("PROMOTE", NEAR), PASS, PASS]
    assert device.values("pages") == {KV >> 12: {"epoch": 0, "count": 5}}
    # A new phase: another device raises the epoch.
    device.put(".rodata.settings", {0: {"hot_pages_settings": {"epoch": 1}}})
    assert device.read(ask, KV) == PASS
    assert device.values("pages") == {KV >> 12: {"epoch": 1, "count": 1}}


def test_keep_hot_near_with_a_sketch(island, goal):
    device = island(goal("keep_hot_near", "kv", near="near", threshold=2, sketch=1))
    assert [device.read("kv_requests", KV) for _ in range(3)] == [PASS, to("PROMOTE", NEAR), PASS]
    assert device.values("asked") == {KV >> 12: 0}


def test_balance_duplex_reads_the_copy_of_what_nobody_writes(island, goal):
    device = island(goal("balance_duplex", window=2))
    ask = "other_requests"
    reads = [device.read(ask, WEIGHTS + LINE * n, port=NPU) for n in range(4)]
    assert reads == [PASS, PASS, to("REDIRECT", NEAR), to("REDIRECT", NEAR)]
    assert device.values("flows") == {
        NEAR: {"reads": 2, "writes": 0},
        FAR: {"reads": 2, "writes": 0},
    }
    # Keys and values are written, so their copy may be old.
    assert device.read(ask, KV) == PASS
    assert device.data(KV) == PASS
    assert device.values("flows")[FAR] == {"reads": 2, "writes": 0}


def test_bound_tail_latency_lets_the_others_pay(island, goal):
    device = island(goal("bound_tail_latency", "kv", bound_ns=500, step=8, bulk_weight=3))
    ask = "weights_requests"
    assert device.read(ask, WEIGHTS, port=NPU) == PASS
    overload = DevLoad.MODERATE_OVERLOAD
    assert device.data(KV, dev_load=overload, latency_ns=100) == PASS
    assert device.values("prices") == {FAR: 8}
    assert device.read(ask, WEIGHTS, port=NPU) == Verdict(action=VerdictAction.DELAY, tokens=24)
    assert device.values("weights") == {GPU: 1, NPU: 3}
    device.data(KV, dev_load=DevLoad.LIGHT, latency_ns=501, tag=7)
    assert device.values("prices") == {}
    assert device.values("latencies") == {6: 1, 8: 1}
    records = device.values("records")
    assert [(record["tag"], record["slow"]) for record in records] == [(0, 0), (7, 1)]


def test_requests_that_the_goal_is_about_need_no_program_of_their_own(small_graph, goal):
    units, _ = plan_graph(small_graph(goal("bound_tail_latency", "kv")))
    names = [program.name for program in units["island"].programs]
    assert names == ["weights_requests", "answers"]


def test_prefetch_streams_advises(island, goal):
    device = island(goal("prefetch_streams", "weights", distance=2))
    for line in range(3):
        assert device.read("weights_requests", WEIGHTS + LINE * line, port=NPU) == PASS
    assert device.values("prefetches") == [
        {"address": WEIGHTS + 4 * LINE, "port": NPU, "island": FAR}
    ]
    assert device.values("streams") == {
        NPU << 56 | WEIGHTS >> 16: {"line": (WEIGHTS >> 6) + 2, "stride": 1, "confidence": 2}
    }


def test_what_is_denied_is_not_counted_by_later_steps(island, goal):
    device = island(
        goal("isolate_tenants"),
        goal("steer_objects", "kv"),
        goal("keep_hot_near", "kv", near="near", threshold=1),
    )
    assert device.read("kv_requests", KV, port=NPU) == DENY
    assert device.values("traffic") == {}
    assert device.values("pages") == {}
    assert device.read("kv_requests", KV) == to("PROMOTE", NEAR)


def test_a_redirected_request_is_balanced_where_it_goes(island, goal):
    device = island(goal("steer_objects", "kv"), goal("balance_duplex", "weights", window=1))
    ask = "kv_requests"
    assert device.read(ask, KV, island=NEAR) == to("REDIRECT", FAR)
    assert device.values("flows") == {FAR: {"reads": 1, "writes": 0}}
    device.write(ask, KV)
    # Balance would delay this one; where the data are matters more.
    assert device.read(ask, KV, island=NEAR) == to("REDIRECT", FAR)
    assert device.values("flows") == {FAR: {"reads": 2, "writes": 1}}
    assert device.read(ask, KV) == Verdict(action=VerdictAction.DELAY, tokens=4)


def test_a_better_copy_is_a_later_redirection(island, goal):
    device = island(goal("steer_objects", "weights"), goal("balance_duplex", "weights", window=1))
    ask = "weights_requests"
    assert device.read(ask, WEIGHTS, port=NPU, island=NEAR) == to("REDIRECT", FAR)
    assert device.read(ask, WEIGHTS, port=NPU, island=NEAR) == to("REDIRECT", NEAR)


def test_two_goals_of_a_kind_are_refused(small_graph, goal):
    with pytest.raises(InputError, match="two goals that need duplex_balance; put all their obj"):
        plan_graph(small_graph(goal("balance_duplex"), goal("balance_duplex")))


def test_a_policy_over_its_budget_is_refused(small_graph, goal):
    graph = small_graph(goal("balance_duplex"), island={"instructions": 60})
    with pytest.raises(InputError) as refused:
        compile_graph(graph)
    assert str(refused.value) == (
        "island 'island': program 'other_requests' of duplex_balance takes up to 68 instructions; "
        "60 are allowed: take a goal away from write_kv, read_kv, stream, or set instructions = 68"
    )


def test_what_holds_if_a_verdict_is_late(small_graph, goal):
    for late in (0, 1):
        graph = small_graph(
            goal("isolate_tenants", deny_late=late), goal("bound_tail_latency", "kv")
        )
        units, _ = plan_graph(graph)
        rules = {rule["program"]: rule for rule in units["island"].attach["rules"]}
        assert [rules[name]["deny"] for name in rules] == [bool(late), bool(late), False]
        assert [rules[name]["inline"] for name in rules] == [True, True, False]


def test_maps_that_do_not_fit_the_engine_are_refused(small_graph, goal):
    graph = small_graph(goal("balance_duplex"), island={"engine": "tiny"})
    with pytest.raises(InputError, match=r"island 'island': .*; take a goal away from it, or give"):
        compile_graph(graph)
    with pytest.raises(InputError, match="engine 'big' is not known; choose one of default"):
        compile_graph(small_graph(goal("balance_duplex"), island={"engine": "big"}))


def test_rules_that_the_switch_does_not_have_are_refused(small_graph, goal):
    graph = small_graph(
        goal("isolate_tenants"),
        goal("bound_tail_latency", "kv"),
        goal("steer_objects", "kv"),
        island={"switch": "tiny"},
    )
    with pytest.raises(InputError, match="needs 4 rules of its event filter, for kv_requests,"):
        plan_graph(graph)


@pytest.mark.skipif(bool(why_unavailable()), reason=f"no eBPF from Linux: {why_unavailable()}")
def test_linux_accepts_all_programs_of_the_shipped_graph(shipped):
    for name, built in shipped.built.items():
        with linux_verifier([made.spec for made in built.loaded.maps]) as linux:
            for program in built.loaded.programs:
                assert linux.refusal(program.program, 64) is None, (name, program.name)
