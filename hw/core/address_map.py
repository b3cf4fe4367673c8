"""Which region of the cluster an address lies in."""

from amaranth import Const, Value

from fanweave.golden.isa.cluster import REGIONS, Region, RegionName

__all__ = ["can_fetch", "has_data", "in_region", "is_peripheral"]


def _within(address: Value, region: Region) -> Value:
    """Whether an address lies in a region, which is aligned to its size."""
    if region.size & region.size - 1 or region.base % region.size:
        raise ValueError(f"region {region.name.value} is not aligned to a size of a power of two")
    bits = region.size.bit_length() - 1
    return address[bits:] == region.base >> bits


def _any(address: Value, regions: list[Region]) -> Value:
    found: Value = Const(0, 1)
    for region in regions:
        found = found | _within(address, region)
    return found


def can_fetch(address: Value) -> Value:
    """Whether instructions can be fetched from an address."""
    return _any(address, [region for region in REGIONS if region.fetch])


def has_data(address: Value) -> Value:
    """Whether loads and stores reach memory or registers at an address."""
    return _any(address, [region for region in REGIONS if region.data])


def in_region(address: Value, name: RegionName) -> Value:
    """Whether an address lies in a region."""
    return _any(address, [region for region in REGIONS if region.name is name])


def is_peripheral(address: Value) -> Value:
    """Whether an address lies among the registers of peripherals."""
    return in_region(address, RegionName.PERIPHERALS)
