"""Records of events and verdicts have the sizes that the hardware's have."""

import io

from amaranth.lib import data

from fanweave.hw.cxl.payloads import PolicyEvent, PolicyVerdict
from fanweave.sim.benches.cxl import records
from fanweave.sim.benches.cxl.records import Record, Told, read_records


def words(shape):
    return -(-data.Layout.cast(shape).size // 32)


def test_sizes_are_those_of_the_payloads():
    assert 4 * words(PolicyEvent) == records._EVENT_BYTES
    assert 4 * words(PolicyVerdict) == records._VERDICT_BYTES


def test_a_verdict_is_read_without_what_stands_behind_it():
    payload = data.Layout.cast(PolicyVerdict).const(
        {"r0": 0x305, "tag": 7, "failed": 0, "again": 1, "host": 5, "page": 0xABCDE}
    )
    told = payload.as_bits().to_bytes(4 * words(PolicyVerdict), "little")
    log = io.BytesIO(b"".join(records._HEADER.pack(n, records._TOLD, 0, 0) + told for n in (3, 4)))
    assert list(read_records(log)) == [Record(n, Told(7, 0x305, False)) for n in (3, 4)]
