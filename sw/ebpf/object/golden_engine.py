"""The golden machine as an engine."""

from fanweave.sw.ebpf.object.contents import machine_of, map_contents
from fanweave.sw.ebpf.object.engines import RunRequest, RunResult

__all__ = ["run"]


def run(request: RunRequest) -> RunResult:
    """Run a program on a fresh machine.

    Raises
    ------
    InputError
        If a map cannot be made, or does not take what is put into it.
    """
    machine = machine_of(request.loaded, request.contents, budget=request.budget)
    context = bytearray(request.context)
    outcome = machine.run(
        request.program.program, context, reference=request.reference, trace=request.trace
    )
    return RunResult(
        r0=outcome.r0,
        context=bytes(context),
        contents=map_contents(machine.maps),
        fault=outcome.fault,
        slot=outcome.slot,
        instructions=outcome.instructions,
    )
