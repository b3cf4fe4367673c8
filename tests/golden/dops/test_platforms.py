"""Cards of devices, and Ventaglio clusters among them."""

import pytest

from fanweave.golden.dops.platforms import Link, load_platform, platform_from_table
from fanweave.golden.errors import InputError

HOST = {
    "name": "CPU0",
    "type": "cpu",
    "peak_tflops": 1.0,
    "bandwidth_gib": 100.0,
    "capacity_gib": 64.0,
    "source": "assumed",
}


def platform(**device):
    table = {"name": "X0", **device}
    return platform_from_table(
        "file",
        {"name": "p", "topology": "fc", "link": {"bandwidth_gib": 30.0}, "devices": [HOST, table]},
    )


def test_a_card_fills_in_what_a_table_leaves_out():
    device = platform(card="a100", capacity_gib=40.0).devices[1]
    assert (device.type, device.kind, device.peak_tflops) == ("npu", "gpu", 312.0)
    assert device.capacity_bytes == 40 << 30
    assert not device.skips_zeros


def test_the_peak_of_a_ventaglio_cluster_is_that_of_its_lanes():
    device = platform(card="ventaglio-16", units=4, lanes=8, clock_mhz=500.0).devices[1]
    assert device.peak_tflops == 2 * 4 * 8 * 500e6 / 1e12
    assert device.skips_zeros
    assert (device.type, device.kind) == ("npu", "ventaglio")


@pytest.mark.parametrize("name", ["a100-pim", "sparse-edge", "sparse-pair"])
def test_platforms_of_cards_load(name):
    kinds = {device.kind for device in load_platform(name).devices}
    assert "pim" in kinds
    assert kinds & {"gpu", "ventaglio"}


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ({"card": "a10"}, "file: device X0: card 'a10' is not known; did you mean 'a100'?"),
        ({"card": "a100", "busy": [[1.0, 0.9]]}, "unknown key 'busy'"),
        ({"card": "ventaglio-16", "peak_tflops": 1.0}, "unknown key 'peak_tflops'"),
        ({"card": "ventaglio-16", "units": 0}, "units = 0 must be"),
        ({"card": "ventaglio-16", "busy": 0.9}, "must be pairs of a density and a share"),
        ({"card": "ventaglio-16", "busy": [[1.0, 1.1]]}, "must be shares, at most 1"),
        ({"card": "ventaglio-16", "busy": [[1.0, 0.9], [0.5, 0.9]]}, "densities must rise"),
        ({"card": "hbm-pim", "line_bytes": 0}, "line_bytes = 0 must be"),
        ({"card": "a100", "count": 10**9}, "count = 1000000000 must be an integer of at least 1"),
        ({"card": "a100", "count": 60}, "file: 61 devices are more than 60"),
        ({"card": "a100", "capacity_gib": 1e30}, "capacity_gib = 1e+30 must be a finite number"),
        ({"card": "a100", "bandwidth_gib": 1e-300}, "bandwidth_gib = 1e-300 must be"),
        ({"card": "a100", "peak_tflops": float("inf")}, "peak_tflops = inf must be"),
        ({"card": "a100", "literature": "all"}, "literature = 'all' must be a list of keys"),
        ({"card": "a100", "literature": ["peak_tflop"]}, "did you mean 'peak_tflops'?"),
        ({"type": "tpu"}, "type = 'tpu'"),
    ],
)
def test_what_does_not_fit_is_named(device, message):
    with pytest.raises(InputError) as caught:
        platform(**device)
    assert message in str(caught.value)


def test_a_message_takes_time_however_quick_its_link():
    link = Link(bandwidth_gib=1e9)
    assert [link.time(size) for size in (0, 1, 100)] == [0, 1, 1]
