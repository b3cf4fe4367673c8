"""``fanweave sim switch``: random traffic through the switch, held against the model."""

from dataclasses import asdict
from pathlib import Path

import click

from fanweave.sim.benches.cxl.latencies import Flow
from fanweave.sim.benches.options import (
    config_option,
    gap_option,
    json_option,
    message_waves_option,
    requests_option,
    seed_option,
    stall_option,
)
from fanweave.sim.report.files import check_output, write_json

__all__ = ["print_flows", "switch"]

_TIMEOUT, _PATIENCE = 2000, 200_000


@click.command()
@config_option("switch")
@requests_option(10_000)
@gap_option(2.0)
@stall_option("link")
@click.option(
    "--snoops",
    type=click.IntRange(0, 4096),
    default=0,
    show_default=True,
    help="Back-invalidations of each device.",
)
@click.option(
    "--moves",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="One request of so many asks to move its page to another device; 0 for none.",
)
@seed_option("the traffic")
@message_waves_option()
@json_option()
def switch(
    config_name: str,
    requests: int,
    gap: float,
    stall: int,
    snoops: int,
    moves: int,
    seed: int,
    waves: tuple[int, int | None] | None,
    json_file: str | None,
) -> None:
    """Run random traffic of all hosts through the switch, to all devices.

    Every message that the switch takes and gives is held against the golden model; where pages
    move, also what hosts read against what they wrote. A row of the
    table is one kind of request of a host; cycles count from when the switch takes it to its last
    answer, with the 1 to 10 of the device.

    \b
    Example:
      fanweave sim switch --config tiny --stall 40 --moves 20 --waves
    """
    # Only now: the simulation is slow to import.
    from fanweave.golden.cxl.config import PRESETS
    from fanweave.golden.presets import find_preset
    from fanweave.sim.benches.cxl.latencies import Latencies
    from fanweave.sim.benches.cxl.message_texts import show_messages
    from fanweave.sim.benches.cxl.soak import check
    from fanweave.sim.benches.cxl.traffic import RandomTraffic
    from fanweave.sim.benches.cxl.verilated import Devices, Traffic
    from fanweave.sim.runner.toolchain import build_root

    check_output(json_file)
    config = find_preset("switch", config_name, PRESETS)
    traffic = RandomTraffic(
        config, seed=seed, requests=requests, gap=gap, snoops=snoops, moves=moves
    )
    devices = Devices(stall=stall / 256, promote=1.0, single=moves > 0)
    limit = traffic.end + 100 * requests + _PATIENCE
    first, last = waves or (0, 0)
    latencies = Latencies()
    dump = Path(build_root()) / "sim" / "switch" / "waves" / "window.vcd"
    with Traffic(config, waves=waves is not None) as simulation:
        records = simulation.play(
            traffic.plan(timeout=_TIMEOUT),
            limit=limit,
            seed=seed,
            devices=devices,
            window=(first, limit if last is None else last),
        )
        try:
            checker = check(config, latencies.through(records), devices)
        finally:
            if waves is not None:
                simulation.keep_dump(dump, first)
                show_messages(dump, config)
                click.echo(f"waves: gtkwave {dump.with_suffix('.gtkw')}", err=True)
    flows = latencies.flows()
    print_flows(f"cycles of requests through the switch {config_name}", flows)
    told = ", ".join(f"{number:,} {what}" for what, number in sorted(checker.count.items()))
    click.echo(f"as the model says: {told}")
    if json_file is not None:
        document = {
            "config": config_name,
            "seed": seed,
            "messages": dict(checker.count),
            "flows": [asdict(flow) for flow in flows],
        }
        write_json(json_file, document)


def print_flows(title: str, flows: list[Flow]) -> None:
    """Print a table of cycles by host and opcode."""
    from fanweave.sim.report.table import Column, format_number, print_table

    print_table(
        [
            Column(heading="host"),
            Column(heading="opcode", numeric=False),
            *(Column(heading=heading) for heading in ("requests", "mean", "p99", "most")),
        ],
        [
            (
                str(flow.host),
                flow.opcode,
                *(format_number(n) for n in (flow.requests, flow.mean, flow.p99, flow.most)),
            )
            for flow in flows
        ],
        title=title,
    )
