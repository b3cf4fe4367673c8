"""How peripherals' registers are reached."""

from amaranth.lib.wiring import In, Out, Signature

__all__ = ["NUMBER_BITS", "REGISTER_BUS"]

#: Bits of a register's number in its block of 256 bytes.
NUMBER_BITS = 6

#: A load or store of one register of a block, from its user's side. All but ``ready`` and
#: ``value`` hold while ``select`` does, and nothing happens before ``ready``. ``known`` says that
#: there is such a register; ``value`` is its value, 0 if it can only be written.
REGISTER_BUS = Signature(
    {
        "select": Out(1),
        "write": Out(1),
        "number": Out(NUMBER_BITS),
        "data": Out(32),
        "hart": Out(3),
        "ready": In(1),
        "known": In(1),
        "value": In(32),
    }
)
