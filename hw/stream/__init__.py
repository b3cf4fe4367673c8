"""Reusable stream blocks: queues, arbiter, stall injection, protocol checker."""

from fanweave.hw.stream.arbiter import Arbiter
from fanweave.hw.stream.checker import StreamChecker, Violation
from fanweave.hw.stream.queue import Queue, SkidBuffer
from fanweave.hw.stream.stall import StallInjector

__all__ = ["Arbiter", "Queue", "SkidBuffer", "StallInjector", "StreamChecker", "Violation"]
