"""Address ranges with values: joined where they touch, and as keys of tries."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from fanweave.sw.policies.ranges import prefixes
from fanweave.sw.policies.values import Value

__all__ = ["Span", "as_prefixes", "joined"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Span(Generic[_T]):
    """Addresses of a port of entry, up to but not including `end`, and what is there."""

    port: int
    first: int
    end: int
    value: _T


def joined(spans: Iterable[Span[_T]]) -> list[Span[_T]]:
    """Spans in order, those that touch and have the same value as one."""
    made: list[Span[_T]] = []
    for span in sorted(spans, key=lambda each: (each.port, each.first)):
        last = made[-1] if made else None
        if last and (last.port, last.end, last.value) == (span.port, span.first, span.value):
            made[-1] = Span(last.port, last.first, span.end, last.value)
        else:
            made.append(span)
    return made


def as_prefixes(spans: Iterable[Span[Value]]) -> dict[int | bytes, Value]:
    """Entries of a trie with `struct place` as its keys."""
    return {
        key: span.value
        for span in joined(spans)
        for key in prefixes(span.port, span.first, span.end)
    }
