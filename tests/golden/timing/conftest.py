"""Step costs that are easy to reckon with, and a server reckoned without any shortcut."""

from dataclasses import dataclass

import pytest

from fanweave.golden.timing.requests import Request, RequestTrace
from fanweave.golden.timing.step import StepShape, StepTime


@dataclass
class LinearCosts:
    """A step takes a start, and something for each token and each stored token."""

    stages: int = 1
    start: int = 1000
    token: int = 10
    stored: int = 1
    longest: int = 3
    transfer: int = 0
    host: int = 0

    def step(self, shape: StepShape) -> StepTime:
        time = (
            self.start
            + self.token * shape.tokens
            + self.stored * shape.context_sum
            + self.longest * shape.context_max
            + sum(chunk.tokens * chunk.context for chunk in shape.chunks)
        )
        return StepTime((time,) * self.stages, self.transfer, self.host, 0.1, True)


@pytest.fixture
def linear():
    return LinearCosts


@pytest.fixture
def trace_of():
    """Makes a trace of (arrival, input, output) or (arrival, input, output, prefix)."""

    def make(*rows, prefix_block=0):
        requests = tuple(
            Request(
                name=str(index),
                arrival=row[0],
                input_tokens=row[1],
                output_tokens=row[2],
                prefix=tuple(row[3]) if len(row) > 3 else (),
            )
            for index, row in enumerate(rows)
        )
        return RequestTrace(name="made", requests=requests, prefix_block=prefix_block)

    return make
