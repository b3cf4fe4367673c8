"""Graphs that cannot be are refused; the message names the part and the mend."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.fabric.check import deadlines
from fanweave.golden.fabric.read import load_graph


def movement(table, name, **changes):
    found = next(item for item in table["movements"] if item["name"] == name)
    found.update(changes)


CASES = {
    "objects 'kv' (0x100000 to 0x104000) and 'weights' (0x102000 to 0x10a000) overlap; begin "
    "'weights' at 0x104000 or later": lambda t: t["objects"][1].update(first=0x10_2000),
    "object 'kv': first = 0x100004 and size = 0x4000 must be multiples of 0x1000": (
        lambda t: t["objects"][0].update(first=0x10_0004)
    ),
    "it ends at 0x10000000001000; addresses have 52 bits": (
        lambda t: t["objects"][1].update(first=(1 << 52) - 0x7000)
    ),
    "object 'kv': 'gpu' is no memory; objects lie in memories": (
        lambda t: t["objects"][0].update(home="gpu")
    ),
    "object 'kv': 'farr' is no place; did you mean 'far'?": (
        lambda t: t["objects"][0].update(home="farr")
    ),
    "object 'kv': home 'far' is among its copies": (
        lambda t: t["objects"][0].update(copies=["far"])
    ),
    "movement 'stream': 'gpv' is no place; did you mean 'gpu'?": (
        lambda t: movement(t, "stream", consumer="gpv")
    ),
    "movement 'stream': 'weight' is no object; did you mean 'weights'?": (
        lambda t: movement(t, "stream", object="weight")
    ),
    "movement 'read_kv': after = 'writekv' is no movement; did you mean 'write_kv'?": (
        lambda t: movement(t, "read_kv", after=["writekv"])
    ),
    "deadlines go round in a circle: 'write_kv' after 'read_kv' after 'write_kv'; take one out": (
        lambda t: movement(t, "write_kv", after=["read_kv"])
    ),
    "deadlines go round in a circle: 'stream' after 'stream'": (
        lambda t: movement(t, "stream", after=["stream"])
    ),
    "movement 'stream': size = 40960; object 'weights' has 32768 bytes": (
        lambda t: movement(t, "stream", size=0xA000)
    ),
    "object 'weights' lies in 'far' and not in 'near'": (
        lambda t: movement(t, "stream", producer="near")
    ),
    "a write has a device and a memory; it has memory 'far' and gpu 'gpu'": (
        lambda t: movement(t, "stream", direction="write")
    ),
    "via is missing; name the DPU that sends it": (
        lambda t: movement(t, "stream", producer="npu", direction="send")
    ),
    "movement 'stream': via = 'npu' must be a DPU": (
        lambda t: movement(t, "stream", producer="npu", via="npu")
    ),
    "movement 'write_kv': no links lead from 'gpu' to 'far'": lambda t: t["links"].pop(0),
    "port 4 of island 'island' cannot lead to gpu 'gpu'; ports 0 to 1 can": (
        lambda t: t["links"][0].update(port=4)
    ),
    "port 1 of island 'island' leads to 'gpu' and to 'npu'": (
        lambda t: t["links"][0].update(port=1)
    ),
    "place_port is for links to islands": lambda t: t["links"][2].update(place_port=1),
    "'near' is no island; links begin at islands": lambda t: t["links"][0].update(island="near"),
    "switch 'huge' is not known; choose one of": lambda t: t["places"][3].update(switch="huge"),
    "have different hosts, and sharing = 'private'; say 'read_only' or 'handover' of both": (
        lambda t: movement(t, "write_kv", sharing="private")
    ),
    "movements 'write_kv' and 'read_kv' of object 'kv' have different hosts, one writes, and "
    "neither comes after the other: that needs state that all hosts agree on": (
        lambda t: movement(t, "read_kv", after=[])
    ),
    "gpu 'gpu' is tenant 'a''s alone; object 'kv' is nobody's": (
        lambda t: t["places"][0].update(tenant="a")
    ),
    "goal keep_hot_near: near = 'gpu' must be a memory": (
        lambda t: t["goals"].append({"kind": "keep_hot_near", "near": "gpu"})
    ),
    "goal steer_objects: 'k' is no object": (
        lambda t: t["goals"].append({"kind": "steer_objects", "objects": ["k"]})
    ),
}


@pytest.mark.parametrize("message", CASES)
def test_it_is_refused(table, read, message):
    CASES[message](table)
    with pytest.raises(InputError) as refused:
        read(table)
    assert message in str(refused.value)


def test_tenants_have_addresses_of_their_own(table, read):
    table["objects"][0]["tenant"] = "a"
    table["objects"][1].update(tenant="b", first=0x10_0000)
    assert read(table).objects["weights"].first == read(table).objects["kv"].first


def test_deadlines_add_up_along_after(table, read):
    assert deadlines(read(table)) == {"write_kv": 9000, "read_kv": 14000, "stream": 0}
    # What comes after the other need not stand behind it.
    table["movements"].reverse()
    assert deadlines(read(table))["read_kv"] == 14000


def test_many_movements_in_a_row_need_no_deep_stack(table, read):
    last = "stream"
    for number in range(3000):
        table["movements"].insert(
            0, {**table["movements"][-1], "name": f"m{number}", "after": [last], "deadline_ns": 1}
        )
        last = f"m{number}"
    assert deadlines(read(table))[last] == 3000


def test_the_shipped_graph_passes():
    assert deadlines(load_graph("prefill_decode"))["decode_reads_kv_a"] == 70_000
