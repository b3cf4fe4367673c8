"""``fanweave sim island``: a policy of the user judges random traffic, held against golden."""

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanweave.golden.errors import InputError
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

if TYPE_CHECKING:
    from fanweave.golden.cxl.island_config import IslandConfig
    from fanweave.sim.benches.cxl.island_checker import IslandChecker
    from fanweave.sim.benches.cxl.latencies import Flow
    from fanweave.sw.ebpf.object.engines import RunRequest

__all__ = ["island"]

_TIMEOUT, _PATIENCE = 2000, 200_000


@click.command(
    epilog="Example: fanweave ebpf build p.c -o p.o; fanweave sim island --policy p.o --waves"
)
@click.option("--policy", required=True, metavar="FILE", help="An object file, from ebpf build.")
@click.option("--section", metavar="S", help="Program of it, if it has several.")
@click.option("--maps-in", metavar="JSON|-", help="What is put into its maps before.")
@click.option("--maps-out", metavar="JSON|-", help="Where to write what is in them afterwards.")
@click.option(
    "--observe", is_flag=True, help="Requests do not wait for the verdict, and it has no effect."
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Instructions that an event may take.",
)
@requests_option(500)
@gap_option(60.0)
@config_option("island")
@stall_option("link")
@seed_option("the traffic")
@message_waves_option()
@json_option()
def island(
    policy: str,
    section: str | None,
    maps_in: str | None,
    maps_out: str | None,
    observe: bool,
    budget: int,
    requests: int,
    gap: float,
    config_name: str,
    stall: int,
    seed: int,
    waves: tuple[int, int | None] | None,
    json_file: str | None,
) -> None:
    """Let a policy judge random traffic in a switch with its engine in RTL.

    The policy is verified first. It sees every request of all hosts; each event, each verdict and
    what becomes of each message is held against the golden machine and the golden switch, and so
    is what the maps hold in the end. The engine is as large as the policy needs. A request whose
    verdict comes too late passes: see *without an answer in time*.
    """
    # Only now: the simulation is slow to import.
    from fanweave.golden.cxl.island_config import PRESETS
    from fanweave.golden.presets import find_preset
    from fanweave.sim.benches.cxl.latencies import Latencies
    from fanweave.sim.benches.cxl.policed import play_policed
    from fanweave.sim.benches.cxl.records import Record
    from fanweave.sim.benches.cxl.traffic import RandomTraffic, matching
    from fanweave.sim.benches.cxl.verilated import Devices
    from fanweave.sw.ebpf.inputs import write_output
    from fanweave.sw.ebpf.object.maps_json import maps_to_json
    from fanweave.sw.ebpf.object.sizing import sized_for

    check_output(json_file)
    preset = find_preset("island", config_name, PRESETS)
    request = _prepared(policy, section, maps_in, budget)
    loaded = request.loaded
    config = replace(preset, engine=sized_for([loaded], preset.engine))
    number = next(n for n, each in enumerate(loaded.programs) if each is request.program)
    traffic = RandomTraffic(config.switch, seed=seed, requests=requests, gap=gap)
    limit = traffic.end + 100 * requests + _PATIENCE
    seen: list[Record] = []
    checker, found, expected = play_policed(
        config,
        loaded,
        request.contents,
        traffic.plan(timeout=_TIMEOUT),
        budget=budget,
        limit=limit,
        rules=matching(config.switch, skip=0, program=number, inline=not observe),
        seed=seed,
        devices=Devices(stall=stall / 256),
        seen=seen,
        dump=None if waves is None else _dump_file(),
        window=(0, 0) if waves is None else (waves[0], limit if waves[1] is None else waves[1]),
    )
    if waves is not None:
        _show_texts(config)
    latencies = Latencies()
    for _ in latencies.through(seen):
        pass
    flows = latencies.flows()
    _show(config_name, flows, checker, equal=found == expected)
    if maps_out is not None:
        write_output(maps_out, maps_to_json(loaded, found).encode())
    if json_file is not None:
        write_json(json_file, _document(config_name, seed, flows, checker, found == expected))


def _prepared(policy: str, section: str | None, maps_in: str | None, budget: int) -> "RunRequest":
    from fanweave.golden.isa.cxl_event import EVENT_BYTES
    from fanweave.sw.ebpf.inputs import read_code, read_text
    from fanweave.sw.ebpf.jobs import Job, prepare

    if policy.endswith(".c"):
        built = Path(policy).with_suffix(".o").name
        raise InputError(
            f"policy {policy} is a source: build it first, with fanweave ebpf build {policy} "
            f"-o {built}"
        )
    return prepare(
        Job(
            data=read_code(policy, False),
            name=policy,
            section=section,
            context=bytes(EVENT_BYTES),
            maps=None if maps_in is None else read_text(maps_in),
            maps_name=str(maps_in),
            budget=budget,
            verify=True,
        )
    )


def _dump_file() -> Path:
    from fanweave.sim.runner.toolchain import build_root

    return Path(build_root()) / "sim" / "island" / "waves" / "window.vcd"


def _show_texts(config: "IslandConfig") -> None:
    from fanweave.sim.benches.cxl.message_texts import show_messages

    dump = _dump_file()
    show_messages(dump, config.switch)
    click.echo(f"waves: gtkwave {dump.with_suffix('.gtkw')}", err=True)


def _verdicts(checker: "IslandChecker") -> Counter[str]:
    """Requests by what was said of them."""
    said: Counter[str] = Counter()
    for (_, verdict), times in checker.covered["verdicts"].items():
        said[verdict] += times
    return said


def _show(config_name: str, flows: "list[Flow]", checker: "IslandChecker", *, equal: bool) -> None:
    from fanweave.sim.benches.cxl.commands import print_flows
    from fanweave.sim.coverage.switch import NO_VERDICT

    print_flows(f"cycles of requests through the island {config_name}", flows)
    said = _verdicts(checker)
    late = said.pop(NO_VERDICT, 0)
    words = [f"{times:,} {verdict}" for verdict, times in said.most_common()]
    words.append(f"{late:,} without an answer in time" if late else "all answered in time")
    click.echo(f"verdicts: {', '.join(words)}")
    if equal:
        click.echo("events, verdicts, messages and maps are golden's")
    else:
        # Golden handles events one after the other, threads of the engine several at once.
        click.echo("events, verdicts and messages are golden's; maps differ by the order of events")


def _document(
    config_name: str, seed: int, flows: "list[Flow]", checker: "IslandChecker", equal: bool
) -> dict[str, Any]:
    return {
        "config": config_name,
        "seed": seed,
        "messages": dict(checker.count),
        "verdicts": dict(_verdicts(checker)),
        "maps_equal": equal,
        "flows": [asdict(flow) for flow in flows],
    }
