"""A policy on a golden machine that stays from event to event."""

import pytest

from fanweave.golden.isa.cxl_event import Verdict, encode_event
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.ebpf.object.contents import machine_of
from fanweave.sw.policies.library import build_policy


class Running:
    """Takes events, and shows maps."""

    def __init__(self, name, maps):
        self.built = build_policy(name)
        self.machine = machine_of(
            self.built.loaded, self.built.contents(maps), budget=self.built.policy.budget
        )

    def on(self, **event):
        """The verdict on an event with these fields."""
        outcome = self.machine.run(self.built.program.program, encode_event(**event))
        assert outcome.fault is FaultCause.NONE
        return Verdict.decode(outcome.r0)

    def map(self, name):
        """A map of the machine."""
        return self.machine.maps[self.built.loaded.number_of(name, "map")]

    def values(self, name):
        """What is in it."""
        number = self.built.loaded.number_of(name, "map")
        return self.built.values({number: list(self.map(name).items())})[name]


@pytest.fixture(scope="session")
def start():
    """Start a policy: ``start(name, maps)``."""
    return Running
