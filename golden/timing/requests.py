"""Requests that arrive at a server, and checks of a trace of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from fanweave.golden.dops.platforms import PICOSECONDS
from fanweave.golden.errors import InputError

__all__ = ["MOST_SECONDS", "Measured", "Request", "RequestTrace"]

#: From the first arrival to the last: picoseconds of ten times as much fit into 64 bits.
MOST_SECONDS = 10**6


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """When things happened to a request on a real server, in picoseconds.

    Attributes
    ----------
    queued, scheduled, first_token, last_token : int
        The clock is that of `Request.arrival`.
    """

    queued: int
    scheduled: int
    first_token: int
    last_token: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One request.

    Attributes
    ----------
    name : str
        What reports call it.
    arrival : int
        When it reaches the server, picoseconds.
    input_tokens, output_tokens : int
        Tokens of its prompt, and tokens that it generates.
    prefix : tuple of int
        Hashes of the prompt's leading blocks; equal hashes are equal blocks with equal blocks
        before them. Empty if the trace has none.
    measured : Measured, optional
        Times on a real server.
    cached_tokens : int
        Leading tokens of its prompt of which is known, otherwise than by `prefix`, that the
        server finds them in its cache.
    """

    name: str
    arrival: int
    input_tokens: int
    output_tokens: int
    prefix: tuple[int, ...] = ()
    measured: Measured | None = None
    cached_tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class RequestTrace:
    """Requests in the order of their arrival.

    Attributes
    ----------
    name : str
        Where they come from.
    requests : tuple of Request
        At least one.
    prefix_block : int
        Tokens of a block of `Request.prefix`; 0 if no request has one.

    Raises
    ------
    InputError
        If there is no request, one has no tokens, one arrives before its predecessor or more than
        `MOST_SECONDS` after the first, its prefix is longer than its prompt, or no token of it is
        left to compute.
    """

    name: str
    requests: tuple[Request, ...]
    prefix_block: int = 0

    def __post_init__(self) -> None:
        if not self.requests:
            raise InputError(f"{self.name}: no requests; a trace needs at least one")
        before = self.requests[0]
        if self.seconds > MOST_SECONDS:
            raise InputError(
                f"{self.name}: the last request arrives {self.seconds:g} s after the first; "
                f"serve at most {MOST_SECONDS:,} s at once"
            )
        for request in self.requests:
            where = f"{self.name}, request {request.name}"
            for field in ("input_tokens", "output_tokens"):
                value = getattr(request, field)
                if value < 1:
                    raise InputError(f"{where}: {field} = {value} must be at least 1")
            if request.arrival < before.arrival:
                early = (before.arrival - request.arrival) / PICOSECONDS
                raise InputError(
                    f"{where}: arrives {early:g} s before "
                    f"request {before.name}, which stands before it; sort the trace by arrival"
                )
            if not 0 <= request.cached_tokens < request.input_tokens:
                raise InputError(
                    f"{where}: cached_tokens = {request.cached_tokens} must leave at least one of "
                    f"its {request.input_tokens} input tokens"
                )
            if request.prefix and self.prefix_block < 1:
                raise InputError(f"{where}: has prefix hashes, but prefix_block is not given")
            # The last block may be a part of one.
            if (len(request.prefix) - 1) * self.prefix_block >= request.input_tokens:
                raise InputError(
                    f"{where}: {len(request.prefix)} blocks of {self.prefix_block} tokens are "
                    f"more than its {request.input_tokens} input tokens"
                )
            before = request

    @property
    def seconds(self) -> float:
        """From the first arrival to the last."""
        return (self.requests[-1].arrival - self.requests[0].arrival) / PICOSECONDS

    def first(self, count: int) -> "RequestTrace":
        """The first `count` requests."""
        return RequestTrace(
            name=self.name, requests=self.requests[:count], prefix_block=self.prefix_block
        )

    def at_rate(self, requests_per_s: float) -> "RequestTrace":
        """The same requests with all gaps stretched alike, to a mean rate.

        Raises
        ------
        InputError
            If the rate is not positive and finite, or all requests arrive at once, or would
            come over too long a time.
        """
        if not 0 < requests_per_s < float("inf"):
            raise InputError(
                f"request rate {requests_per_s!r} must be a finite number over 0 requests/s"
            )
        span = self.requests[-1].arrival - self.requests[0].arrival
        if span == 0:
            raise InputError(f"{self.name}: all requests arrive at once; their rate has no meaning")
        seconds = (len(self.requests) - 1) / requests_per_s
        if seconds > MOST_SECONDS:
            raise InputError(
                f"request rate {requests_per_s!r} spreads {len(self.requests)} requests over "
                f"{seconds:g} s; serve at most {MOST_SECONDS:,} s at once"
            )
        target = round(seconds * PICOSECONDS)
        start = self.requests[0].arrival
        return RequestTrace(
            name=f"{self.name} at {requests_per_s:g} requests/s",
            requests=_stretched(self.requests, start, target, span),
            prefix_block=self.prefix_block,
        )


def _stretched(
    requests: Sequence[Request], start: int, target: int, span: int
) -> tuple[Request, ...]:
    return tuple(
        Request(
            name=request.name,
            arrival=(request.arrival - start) * target // span,
            input_tokens=request.input_tokens,
            output_tokens=request.output_tokens,
            prefix=request.prefix,
            cached_tokens=request.cached_tokens,
        )
        for request in requests
    )
