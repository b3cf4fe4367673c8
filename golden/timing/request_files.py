"""Reads traces of requests, each in the form in which its source publishes it."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from importlib import resources
from pathlib import Path
from typing import Any

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.dops.tables import nearest
from fanweave.golden.errors import InputError
from fanweave.golden.timing.requests import Measured, Request, RequestTrace

__all__ = ["FORMS", "SHIPPED", "read_requests"]

#: Forms that are understood, for messages.
FORMS = (
    "CSV with arrival_s,input_tokens,output_tokens; Azure CSV (TIMESTAMP,ContextTokens,"
    "GeneratedTokens); BurstGPT CSV (Timestamp,Model,Request tokens,Response tokens,...); "
    "Mooncake JSONL (timestamp, input_length, output_length, hash_ids); JSONL with times "
    "measured by vLLM (queued_ts, scheduled_ts, first_token_ts, last_token_ts); JSON result of "
    "`vllm bench serve --save-detailed`"
)
#: Names of the traces that come with the package.
SHIPPED = {
    "azure-conversation": "azure_conv.csv",
    "measured-server": "rtxpro6000_llama31_8b_vllm_requests.jsonl",
}
_MOONCAKE_BLOCK = 512
_NANOSECONDS_PER_DAY = 86400 * 10**9
#: Of a clock, wherever it begins; Mooncake's counts milliseconds.
_MOST_SECONDS = 10**15


def read_requests(name: str) -> RequestTrace:
    """Read a trace from a file, or a shipped one by name.

    Times begin with 0 at the first request.

    Raises
    ------
    InputError
        If it cannot be read, has no known form, or a row does not fit.
    """
    if name in SHIPPED:
        path = Path(str(resources.files(__package__).joinpath("data", SHIPPED[name])))
    else:
        path = Path(name)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{name} cannot be read: {error}; name a file or a shipped trace "
            f"({', '.join(SHIPPED)}){nearest(name, SHIPPED)}"
        ) from error
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise InputError(f"{name} is empty; expected {FORMS}")
    read, block = _reader(numbered, name)
    requests = _from_zero(list(read(numbered, name)))
    if not requests:
        raise InputError(f"{name} has a header and no requests")
    return RequestTrace(name=name, requests=requests, prefix_block=block)


Reader = Callable[[list[tuple[int, str]], str], Iterator[Request]]


def _reader(numbered: list[tuple[int, str]], name: str) -> tuple[Reader, int]:
    first = numbered[0][1].lstrip()
    if first.startswith("{"):
        # One object over several lines, or alone on one, is a result; else one a line.
        keys = _object(numbered, name)
        if "input_lens" in keys:
            return _read_vllm_result, 0
        if {"timestamp", "input_length"} <= keys.keys():
            return _read_mooncake, _MOONCAKE_BLOCK
        if "queued_ts" in keys:
            return _read_measured, 0
        raise InputError(f"{name}: keys {', '.join(keys)} are no known form; expected {FORMS}")
    header = [column.strip() for column in first.split(",")]
    if header[:3] == ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]:
        return _read_azure, 0
    if header[:4] == ["Timestamp", "Model", "Request tokens", "Response tokens"]:
        return _read_burst, 0
    if header == ["arrival_s", "input_tokens", "output_tokens"]:
        return _read_plain, 0
    raise InputError(f"{name}: first line {first!r} is no known form; expected {FORMS}")


def _object(numbered: list[tuple[int, str]], name: str) -> dict[str, Any]:
    try:
        return _json(numbered[0][1], name, numbered[0][0])
    except InputError:
        return _json("\n".join(line for _, line in numbered), name, numbered[0][0])


def _json(text: str, name: str, line: int) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}, line {line}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{name}, line {line}: expected a JSON object")
    return value


def _from_zero(requests: list[Request]) -> tuple[Request, ...]:
    if not requests:
        return ()
    start = requests[0].arrival
    return tuple(
        Request(
            name=request.name,
            arrival=request.arrival - start,
            input_tokens=request.input_tokens,
            output_tokens=request.output_tokens,
            prefix=request.prefix,
            measured=_shifted(request.measured, start),
        )
        for request in requests
    )


def _shifted(measured: Measured | None, start: int) -> Measured | None:
    if measured is None:
        return None
    return Measured(
        queued=measured.queued - start,
        scheduled=measured.scheduled - start,
        first_token=measured.first_token - start,
        last_token=measured.last_token - start,
    )


def _seconds(value: object, name: str, line: int, what: str) -> int:
    """Seconds as picoseconds, exact."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 <= number <= _MOST_SECONDS:
        raise InputError(
            f"{name}, line {line}: {what} {value!r} must be a finite number of seconds, from 0 to "
            f"{_MOST_SECONDS:,}"
        )
    return int((number * PICOSECONDS).to_integral_value())


def _count(value: object, name: str, line: int, what: str) -> int:
    try:
        number = int(str(value).strip())
    except ValueError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise InputError(f"{name}, line {line}: {what} {value!r} must be a whole number of tokens")
    return number


def _fields(
    numbered: list[tuple[int, str]], name: str, least: int
) -> Iterator[tuple[int, list[str]]]:
    for line, text in numbered[1:]:
        row = next(csv.reader([text]))
        if len(row) < least:
            raise InputError(f"{name}, line {line}: {len(row)} fields; expected {least}")
        yield line, row


def _read_plain(numbered: list[tuple[int, str]], name: str) -> Iterator[Request]:
    for line, row in _fields(numbered, name, 3):
        yield Request(
            name=f"line {line}",
            arrival=_seconds(row[0], name, line, "arrival_s"),
            input_tokens=_count(row[1], name, line, "input_tokens"),
            output_tokens=_count(row[2], name, line, "output_tokens"),
        )


def _read_azure(numbered: list[tuple[int, str]], name: str) -> Iterator[Request]:
    for line, row in _fields(numbered, name, 3):
        yield Request(
            name=f"line {line}",
            arrival=_timestamp(row[0], name, line),
            input_tokens=_count(row[1], name, line, "ContextTokens"),
            output_tokens=_count(row[2], name, line, "GeneratedTokens"),
        )


def _timestamp(text: str, name: str, line: int) -> int:
    """A date and time with any number of decimals, as picoseconds since the year 1."""
    whole, _, fraction = text.strip().partition(".")
    try:
        moment = datetime.fromisoformat(whole)
        decimals = int(fraction.ljust(9, "0")[:9]) if fraction else 0
    except ValueError:
        raise InputError(
            f"{name}, line {line}: TIMESTAMP {text!r} must be like 2023-11-16 18:15:46.68"
        ) from None
    midnight = moment.toordinal() * _NANOSECONDS_PER_DAY
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return (midnight + seconds * 10**9 + decimals) * 1000


def _read_burst(numbered: list[tuple[int, str]], name: str) -> Iterator[Request]:
    for line, row in _fields(numbered, name, 4):
        output = _count(row[3], name, line, "Response tokens")
        # Requests that failed have no response.
        if output:
            yield Request(
                name=f"line {line}",
                arrival=_seconds(row[0], name, line, "Timestamp"),
                input_tokens=_count(row[2], name, line, "Request tokens"),
                output_tokens=output,
            )


def _value(row: dict[str, Any], key: str, name: str, line: int) -> Any:
    if key not in row:
        raise InputError(f"{name}, line {line}: key {key!r} is missing")
    return row[key]


def _read_mooncake(numbered: list[tuple[int, str]], name: str) -> Iterator[Request]:
    for line, text in numbered:
        row = _json(text, name, line)
        hashes = row.get("hash_ids", [])
        if not isinstance(hashes, list) or not all(isinstance(h, int) for h in hashes):
            raise InputError(f"{name}, line {line}: hash_ids must be a list of whole numbers")
        yield Request(
            name=f"line {line}",
            arrival=_seconds(_value(row, "timestamp", name, line), name, line, "timestamp") // 1000,
            input_tokens=_count(row.get("input_length"), name, line, "input_length"),
            output_tokens=_count(row.get("output_length"), name, line, "output_length"),
            prefix=tuple(hashes),
        )


def _read_measured(numbered: list[tuple[int, str]], name: str) -> Iterator[Request]:
    """Requests with measured times; they arrive at `arrival_time` where all have one.

    That is another clock than the measured times have. The one that was taken in soonest is
    thought to have been so at once.
    """
    requests, arrivals = [], []
    for line, text in numbered:
        row = _json(text, name, line)
        times = [
            _seconds(_value(row, key, name, line), name, line, key)
            for key in ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
        ]
        if times != sorted(times):
            raise InputError(
                f"{name}, line {line}: queued_ts, scheduled_ts, first_token_ts and last_token_ts "
                "must not decrease"
            )
        if "arrival_time" in row:
            arrivals.append(_seconds(row["arrival_time"], name, line, "arrival_time"))
        requests.append(
            Request(
                name=str(_value(row, "request_id", name, line)),
                arrival=times[0],
                input_tokens=_count(row.get("input_toks"), name, line, "input_toks"),
                output_tokens=_count(row.get("output_toks"), name, line, "output_toks"),
                measured=Measured(
                    queued=times[0], scheduled=times[1], first_token=times[2], last_token=times[3]
                ),
            )
        )
    if len(arrivals) < len(requests):
        arrivals = [request.arrival for request in requests]
    clocks = min(
        request.arrival - arrival for request, arrival in zip(requests, arrivals, strict=True)
    )
    for request, arrival in zip(requests, arrivals, strict=True):
        yield replace(request, arrival=arrival + clocks)


def _read_vllm_result(numbered: list[tuple[int, str]], name: str) -> Iterator[Request]:
    """Lengths of the requests; their start times, or else their rate (all at once if inf)."""
    result = _object(numbered, name)
    inputs = result["input_lens"]
    if not isinstance(inputs, list):
        raise InputError(f"{name}: input_lens must be a list, one entry a request")
    outputs: Any = result.get("output_lens")
    starts: Any = result.get("start_times")
    if starts is None:
        starts = _evenly(result.get("request_rate", "inf"), len(inputs), name)
    for key, value in (("output_lens", outputs), ("start_times", starts)):
        if not isinstance(value, list) or len(value) != len(inputs):
            raise InputError(
                f"{name}: {key} must be a list with the {len(inputs)} entries of input_lens"
            )
    rows = []
    for number, (start, tokens, generated) in enumerate(
        zip(starts, inputs, outputs, strict=True), 1
    ):
        generated = _count(generated, name, number, "output_lens")
        # Requests that failed have no output.
        if generated:
            arrival = _seconds(start, name, number, "start_times")
            rows.append((arrival, number, _count(tokens, name, number, "input_lens"), generated))
    for arrival, number, tokens, generated in sorted(rows):
        yield Request(
            name=f"request {number}",
            arrival=arrival,
            input_tokens=tokens,
            output_tokens=generated,
        )


def _evenly(rate: object, count: int, name: str) -> list[Decimal]:
    try:
        number = Decimal(str(rate))
    except InvalidOperation:
        number = Decimal(0)
    if number == Decimal("inf"):
        return [Decimal(0)] * count
    if not number.is_finite() or number <= 0:
        raise InputError(f"{name}: request_rate {rate!r} must be over 0, or inf")
    return [Decimal(index) / number for index in range(count)]
