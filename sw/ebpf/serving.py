"""Runs programs that come as lines of JSON, on one engine that stays alive between them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET
from fanweave.sw.ebpf.inputs import hexadecimal
from fanweave.sw.ebpf.jobs import Job, prepare
from fanweave.sw.ebpf.object.engines import Engine, RunRequest, RunResult
from fanweave.sw.ebpf.object.listing import fault_text
from fanweave.sw.ebpf.object.loader import read_object
from fanweave.sw.ebpf.object.maps_json import maps_to_json

__all__ = ["FIELDS", "answers"]

#: Members of a request -> what is expected.
FIELDS: dict[str, tuple[type, str]] = {
    "id": (object, "anything, given back"),
    "hex": (str, "instructions as hexadecimal text"),
    "object": (str, "path of an object file"),
    "section": (str, "section, function or both, S:F"),
    "mem": (str, "context as hexadecimal text"),
    "maps": (dict, "what is put into the maps, as in --maps-in"),
    "maps_out": (bool, "true or false"),
    "budget": (int, "a number from 1 on"),
    "reference": (bool, "true or false"),
    "verify": (bool, "true or false"),
}


def answers(lines: Iterable[bytes], engine: Engine) -> Iterator[str]:
    """One line of JSON for each request; empty lines are none.

    Parameters
    ----------
    lines : iterable of bytes
        Requests.
    engine : callable
        What runs the programs, one after the other.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(_answer(line, number, engine))


def _answer(line: bytes, number: int, engine: Engine) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    where = f"line {number}"
    try:
        request = _request(line, where)
        if "id" in request:
            answer["id"] = request["id"]
        _check(request, where)
        prepared = prepare(_job(request, where))
        result = engine(prepared)
    except InputError as error:
        return {**answer, "status": 2, "message": str(error)}
    except FaultError as error:
        return {**answer, "status": 1, "message": str(error)}
    answer |= _outcome(prepared, result)
    if request.get("maps_out"):
        answer["maps"] = json.loads(maps_to_json(prepared.loaded, result.contents))
    return answer


def _request(line: bytes, where: str) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is no JSON: {error}") from None
    if not isinstance(request, dict):
        raise InputError(f'{where}: expected an object, such as {{"hex": "95000000 00000000"}}')
    return request


def _check(request: dict[str, Any], where: str) -> None:
    for name, value in request.items():
        if name not in FIELDS:
            raise InputError(f"{where}: {name!r} is unknown; known are {', '.join(FIELDS)}")
        kind, expected = FIELDS[name]
        # To Python, true is a number.
        low = isinstance(value, int) and kind is int and (isinstance(value, bool) or value < 1)
        if low or not isinstance(value, kind):
            raise InputError(f"{where}: {name} = {json.dumps(value)}; expected {expected}")
    if ("hex" in request) == ("object" in request):
        raise InputError(f"{where}: expected hex or object, and not both")


def _job(request: dict[str, Any], where: str) -> Job:
    if "hex" in request:
        data, name = hexadecimal(request["hex"], f"{where}: hex"), where
    else:
        data, name = read_object(Path(request["object"])), request["object"]
    return Job(
        data=data,
        name=name,
        section=request.get("section"),
        context=hexadecimal(request.get("mem", ""), f"{where}: mem"),
        maps=json.dumps(request["maps"]) if "maps" in request else None,
        maps_name=f"{where}: maps",
        budget=request.get("budget", DEFAULT_BUDGET),
        reference=request.get("reference", False),
        verify=request.get("verify"),
    )


def _outcome(request: RunRequest, result: RunResult) -> dict[str, Any]:
    answer: dict[str, Any] = {"status": 1 if result.fault else 0}
    if result.fault:
        answer["fault"] = result.fault.name
        answer["message"] = fault_text(request.loaded, request.program, result)
    else:
        answer["r0"] = f"{result.r0:x}"
    answer["mem"] = result.context.hex()
    for name in ("slot", "instructions", "cycles"):
        if (value := getattr(result, name)) is not None:
            answer[name] = value
    return answer
