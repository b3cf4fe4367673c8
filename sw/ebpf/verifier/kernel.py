"""Linux's verifier, to compare verdicts with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fanweave.golden.ebpf.linux import LinuxError, LinuxMachine, RefusedError, why_unavailable
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError

__all__ = ["Comparison", "LinuxVerifier", "linux_verifier"]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What both verifiers say of a program.

    Attributes
    ----------
    name : str
        The program's.
    refusal : str or None
        Why the one here refuses it; None if it accepts it.
    linux_refusal : str or None
        The same of Linux's.
    """

    name: str
    refusal: str | None
    linux_refusal: str | None

    @property
    def agrees(self) -> bool:
        """Whether both accept or both refuse."""
        return (self.refusal is None) == (self.linux_refusal is None)

    def __str__(self) -> str:
        words = {
            (True, True): "both accept it",
            (False, False): "both refuse it",
            (True, False): "accepted here, refused by Linux",
            (False, True): "refused here, accepted by Linux",
        }
        said = f"{self.name}: {words[self.refusal is None, self.linux_refusal is None]}"
        for who, refusal in (("here", self.refusal), ("Linux", self.linux_refusal)):
            if refusal is not None:
                said += f"\n  {who}: {refusal}"
        return said


class LinuxVerifier:
    """The kernel's verifier, with maps of its own.

    It sees a program as a function whose r1 is the address of a map's value and whose r2 is a
    constant; so it has one frame less, and no program may be gone on in.
    """

    def __init__(self, machine: LinuxMachine) -> None:
        self._machine = machine

    def refusal(self, program: Program, context_bytes: int) -> str | None:
        """Its last words about a program with a context of so many bytes; None if it accepts it.

        An accepted program is run once, on zeros.
        """
        try:
            self._machine.run(program, bytes(context_bytes))
        except RefusedError as error:
            return str(error)
        return None


@contextmanager
def linux_verifier(
    maps: Sequence[MapSpec], inner: Mapping[int, MapSpec] | None = None
) -> Iterator[LinuxVerifier]:
    """The kernel's verifier, as long as it is needed.

    Parameters
    ----------
    maps : sequence of MapSpec
        Maps by number.
    inner : mapping of int to MapSpec, optional
        By the number of an array of maps: what is in it.

    Raises
    ------
    InputError
        If this machine's kernel loads no programs, or a map has no meaning to it.
    """
    if reason := why_unavailable():
        raise InputError(f"there is no verifier of Linux to compare with: {reason}")
    specs = list(maps)
    templates: dict[int, int] = {}
    for number, held in (inner or {}).items():
        # Linux learns from a map what those in the array will be like.
        templates[number] = len(specs)
        specs.append(held)
    try:
        machine = LinuxMachine(specs, inner=templates)
    except LinuxError as error:
        raise InputError(f"Linux does not make these maps: {error}") from None
    with machine:
        yield LinuxVerifier(machine)
