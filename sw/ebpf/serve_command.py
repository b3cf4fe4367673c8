"""``fanweave ebpf serve``: many programs on one engine."""

import sys
from collections.abc import Iterator

import click

__all__ = ["serve"]


_EXAMPLE = """Example: echo '{"hex": "95000000 00000000"}' | fanweave ebpf serve"""


@click.command(epilog=_EXAMPLE)
@click.option("--engine", default="golden", show_default=True, help="What runs the programs.")
def serve(engine: str) -> None:
    """Run programs that come as lines of JSON on standard input; answer each with a line of JSON.

    A request has `hex`, instructions, or `object`, the path of an object file; and, as options of
    `run`, `section`, `mem`, `maps`, `maps_out`, `budget`, `reference`, `verify`; and `id`, which
    comes back. An answer has `status`, the exit status that `run` would have: 0 with `r0`, 1 with
    `message` and `fault`, 2 with `message`. The engine lives until the input ends.
    """
    from fanweave.sw.ebpf.object.engines import find_engine
    from fanweave.sw.ebpf.serving import answers

    for line in answers(_lines(), find_engine(engine)):
        click.echo(line)


def _lines() -> Iterator[bytes]:
    # Iterating over the stream itself would read ahead, and let the other side wait.
    while line := sys.stdin.buffer.readline():
        yield line
