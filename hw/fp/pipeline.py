"""Cutting a chain of combinational steps into pipeline stages."""

from types import SimpleNamespace

from amaranth.hdl import Module, Signal, Value, ValueLike

from fanweave.golden.errors import InputError

__all__ = ["check_latency", "stage"]


def check_latency(latency: int, maximum: int) -> int:
    """Check a ``latency`` parameter and return it.

    Raises
    ------
    InputError
        If it is not an integer between 1 and ``maximum``.
    """
    if isinstance(latency, bool) or not isinstance(latency, int) or not 1 <= latency <= maximum:
        raise InputError(f"latency is {latency!r}; expected an integer from 1 to {maximum}")
    return latency


def stage(m: Module, name: str, registered: bool, **values: ValueLike) -> SimpleNamespace:
    """Give values names, and a register each if there is a cut here.

    Parameters
    ----------
    m : Module
        Where the signals are driven.
    name : str
        Prefix of their names.
    registered : bool
        Whether the values pass a register of the ``sync`` domain.
    **values
        Expressions; each becomes the attribute of its name.
    """
    domain = m.d.sync if registered else m.d.comb
    signals = SimpleNamespace()
    for key, expression in values.items():
        value = Value.cast(expression)
        signal = Signal(value.shape(), name=f"{name}_{key}")
        domain += signal.eq(value)
        setattr(signals, key, signal)
    return signals
