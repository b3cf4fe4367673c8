"""Reusable stream blocks: queues, stall injection, protocol checker."""
