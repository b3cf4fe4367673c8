"""``fanweave doctor``: says what this machine lacks."""

import click

from fanweave.golden.errors import FaultError
from fanweave.sim.runner.doctor import examine

__all__ = ["doctor"]


@click.command(epilog="Example: fanweave doctor")
def doctor() -> None:
    """Say what is missing on this machine, and the command that brings it."""
    checks = examine()
    width = max(len(check.name) for check in checks)
    for check in checks:
        verdict = check.found if check.passed else f"MISSING   to mend: {check.mend}"
        click.echo(f"  {check.name:{width}}  {verdict}")
    missing = [check.name for check in checks if not check.passed]
    if missing:
        raise FaultError(f"missing: {', '.join(missing)}")
    click.echo("everything is there")
