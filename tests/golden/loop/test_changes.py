"""What a round changed."""

from dataclasses import replace

from fanweave.golden.loop.changes import Move, changed_costs, moves
from fanweave.golden.loop.costs import Cost

COST = Cost(value=2.0, unit="ns", origin="assumed", source="somebody")


def test_costs_with_another_value_those_that_went_farthest_first():
    before = dict.fromkeys(("a", "b", "c", "d"), COST)
    after = {
        "a": replace(COST, value=3.0),
        "b": replace(COST, origin="rtl"),
        "c": replace(COST, value=0.5),
        "d": replace(COST, value=0.0),
    }
    found = changed_costs(before, after)
    assert [(change.name, change.factor) for change in found] == [
        ("d", float("inf")),
        ("c", 4.0),
        ("a", 1.5),
    ]
    assert (found[1].before.value, found[1].after.value) == (2.0, 0.5)


def test_operators_that_run_elsewhere_by_pass_kind_and_way():
    kinds = {"Q0": "Q", "Q1": "Q", "K0": "K"}
    before = {"prefill": {"Q0": "X", "Q1": "X", "K0": "X"}, "token 0": dict.fromkeys(kinds, "X")}
    after = {"prefill": {"Q0": "Y", "Q1": "Y", "K0": "Z"}, "token 0": {**before["token 0"]}}
    assert moves(before, after, kinds) == [
        Move(when="prefill", kind="Q", source="X", target="Y", operators=("Q0", "Q1")),
        Move(when="prefill", kind="K", source="X", target="Z", operators=("K0",)),
    ]
    assert moves(after, after, kinds) == []
