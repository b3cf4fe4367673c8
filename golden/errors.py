"""The two ways a run ends badly, as exceptions that the command turns into exit statuses."""

__all__ = ["FaultError", "InputError"]


class InputError(ValueError):
    """An input was refused: exit status 2.

    The message names the thing (file, field or parameter), its value, the expected form, and
    how to mend it.
    """


class FaultError(RuntimeError):
    """A run completed and found a fault, such as a mismatch: exit status 1."""
