"""One program to run: from what a user says of it to what an engine gets."""

from dataclasses import dataclass

from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET
from fanweave.sw.ebpf.inputs import object_of
from fanweave.sw.ebpf.object.engines import RunRequest
from fanweave.sw.ebpf.object.loader import is_object
from fanweave.sw.ebpf.object.maps_json import maps_from_json
from fanweave.sw.ebpf.object.verification import check_object, verify_for_event

__all__ = ["Job", "prepare"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be run.

    Attributes
    ----------
    data : bytes
        An object file, or raw instructions.
    name : str
        For messages.
    section : str or None
        Which program of an object file; None if it has only one.
    context : bytes
        What the event brings.
    maps : str or None
        JSON: what is put into the maps before; for raw instructions also their definitions.
    maps_name : str
        For messages.
    budget : int
        Instructions after which the watchdog ends the run.
    reference : bool
        Interpret, where an engine has a faster way.
    verify : bool or None
        Whether the program must be one that cannot fault; None: if it is an object file.
    """

    data: bytes
    name: str
    section: str | None = None
    context: bytes = b""
    maps: str | None = None
    maps_name: str = "maps"
    budget: int = DEFAULT_BUDGET
    reference: bool = False
    verify: bool | None = None


def prepare(job: Job) -> RunRequest:
    """Load, check and verify a program.

    Raises
    ------
    InputError
        If it is refused, or something that it needs is malformed.
    """
    loaded = object_of(job.data, job.name, job.maps, job.maps_name)
    program = loaded.find_program(job.section)
    check_object(loaded)
    contents = {} if job.maps is None else maps_from_json(job.maps, loaded, job.maps_name)
    if is_object(job.data) if job.verify is None else job.verify:
        verify_for_event(
            loaded,
            program,
            context_bytes=len(job.context),
            contents=contents,
            budget=job.budget,
        )
    return RunRequest(
        loaded=loaded,
        program=program,
        context=job.context,
        contents=contents,
        budget=job.budget,
        reference=job.reference,
    )
