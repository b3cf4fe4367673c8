"""The ``fanweave`` command, put together from the ``commands`` module of each package."""

from fanweave.sim.command.main import cli, main

__all__ = ["cli", "main"]
