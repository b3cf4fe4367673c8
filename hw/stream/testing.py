"""Helpers for testbenches in Amaranth's own simulator."""

import random
from collections.abc import Iterable
from typing import Any

from amaranth.lib import stream

__all__ = ["stream_assert", "stream_get", "stream_put", "stream_source"]


async def stream_put(ctx: Any, target: stream.Interface, payload: Any) -> None:
    """Offer one payload and return after the clock edge that transfers it."""
    ctx.set(target.payload, payload)
    ctx.set(target.valid, 1)
    await ctx.tick().until(target.ready)
    ctx.set(target.valid, 0)


async def stream_get(ctx: Any, source: stream.Interface) -> Any:
    """Take one payload and return it after the clock edge that transfers it."""
    ctx.set(source.ready, 1)
    (payload,) = await ctx.tick().sample(source.payload).until(source.valid)
    ctx.set(source.ready, 0)
    return payload


async def stream_assert(ctx: Any, source: stream.Interface, expected: Any) -> None:
    """Take one payload and assert that it equals `expected`."""
    payload = await stream_get(ctx, source)
    assert payload == expected, f"stream payload is {payload!r}, expected {expected!r}"


async def stream_source(
    ctx: Any, target: stream.Interface, payloads: Iterable[Any], *, seed: int, pause: float = 0.5
) -> None:
    """Offer all payloads in order, each after pauses of chance `pause` a cycle."""
    generator = random.Random(seed)
    for payload in payloads:
        while generator.random() < pause:
            await ctx.tick()
        await stream_put(ctx, target, payload)
