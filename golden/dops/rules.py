"""What a machine does otherwise than the published one."""

from dataclasses import dataclass

__all__ = ["MachineRules"]


@dataclass(frozen=True, kw_only=True)
class MachineRules:
    """Rules of memories and links; none of them in the published model.

    Attributes
    ----------
    pinned : bool
        Weights that the last pass used stay; what does not fit beside them takes the place of the
        one before it. Else the weight that was used longest ago goes, and a set that is a little
        too large is loaded anew in every pass.
    ring_links : bool
        A sum over pieces keeps the links of its ring busy, and waits for them.
    prefetch : bool
        A load may begin when the operator before it begins on its device.
    """

    pinned: bool = False
    ring_links: bool = False
    prefetch: bool = False
