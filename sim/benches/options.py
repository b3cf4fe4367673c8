"""Options that several ``fanweave sim`` commands share."""

from typing import Any

import click

from fanweave.sim.waves.window import WindowOption

__all__ = [
    "config_option",
    "gap_option",
    "json_option",
    "message_waves_option",
    "requests_option",
    "seed_option",
    "stall_option",
    "waves_option",
]

_Decorator = Any


def config_option(unit: str) -> _Decorator:
    """``--config``: a preset of a unit."""
    return click.option(
        "--config",
        "config_name",
        default="default",
        show_default=True,
        metavar="PRESET",
        help=f"Configuration of the {unit}.",
    )


def stall_option(what: str) -> _Decorator:
    """``--stall``: how often something is held back."""
    return click.option(
        "--stall",
        type=click.IntRange(0, 255),
        default=0,
        show_default=True,
        metavar="N",
        help=f"Hold every {what} back with chance N/256 a cycle.",
    )


def seed_option(of: str) -> _Decorator:
    """``--seed`` of something random."""
    return click.option("--seed", type=int, default=1, show_default=True, help=f"Seed of {of}.")


def waves_option(window: str, text: str) -> _Decorator:
    """``--waves``: a window of cycles, or the one of a bare option."""
    return click.option("--waves", type=WindowOption(), is_flag=False, flag_value=window, help=text)


def message_waves_option() -> _Decorator:
    """``--waves`` of a switch."""
    return waves_option(
        "200:1200",
        "Dump these cycles to a VCD (200 to 1200 if none are given), with messages as text.",
    )


def requests_option(default: int) -> _Decorator:
    """``--requests`` of random traffic."""
    return click.option(
        "--requests",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        help="Requests of each host.",
    )


def gap_option(default: float) -> _Decorator:
    """``--gap`` of random traffic."""
    return click.option(
        "--gap",
        type=click.FloatRange(min=0, min_open=True),
        default=default,
        show_default=True,
        help="Mean cycles between two requests of a host.",
    )


def json_option() -> _Decorator:
    """``--json``: a further place for the result."""
    return click.option(
        "--json", "json_file", metavar="FILE", help="Write the result here as well."
    )
