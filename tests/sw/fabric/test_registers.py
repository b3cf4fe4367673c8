"""Register writes for an island's manifest, as the switch's tables read them."""

from fanweave.golden.cxl.config import SwitchConfig
from fanweave.golden.cxl.tables import Device, Tables
from fanweave.golden.isa.cxl_switch import SwitchError
from fanweave.sw.fabric.registers import switch_writes

KV_LINE = 0x10_0000_0000 >> 6


def test_bindings_ranges_and_rules(shipped):
    attach = shipped.built["island1"].unit.attach
    tables = Tables(SwitchConfig())
    for address, word in switch_writes(attach):
        tables.write(address, word)
        assert tables.error is SwitchError.NONE
    # The same line of two hosts, each with a logical device of its own.
    assert tables.decode(0, KV_LINE) == Device(3, 0)
    assert tables.decode(1, KV_LINE) == Device(3, 1)
    assert tables.decode(1, 0x30_0000_0000 >> 6) is None
    assert tables.own_device(0, 2) == Device(2, 0)
    for number, rule in enumerate(attach["rules"]):
        name = f"rule_{number}"
        assert tables.get(f"{name}_control", "enable")
        assert tables.get(f"{name}_control", "program") == rule["number"]
        assert tables.get(f"{name}_control", "inline") == rule["inline"]
        assert tables.get(f"{name}_match", "channels") == rule["channels"]
        assert tables.get(f"{name}_match", "ports") == 0b111111
        for end in ("first", "last"):
            high = tables.get(f"{name}_{end}_high", "page")
            low = tables.get(f"{name}_{end}_low", "page")
            assert high << 20 | low == rule[f"{end}_page"]
    # Rules and ranges begin to count with their last write.
    written = [address for address, _ in switch_writes(attach)]
    entries = {entry.name: entry.address for entry in SwitchConfig().registers}
    assert written.index(entries["rule_0_control"]) > written.index(entries["rule_0_last_high"])
