"""Frames for the programs, what they must return, and the published cycles of another machine.

Cycles are those that hBPF measured on its FPGA (``tests/statistics`` of its repository, December
2021), for frames of its own that are decided in the same way.
"""

from dataclasses import dataclass

from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.sw.ebpf.object.engines import RunRequest, RunResult, find_engine
from fanweave.sw.ebpf.programs.frames import IPV4, TCP, UDP, VLAN, context_of, ethernet, ipv4, tcp
from fanweave.sw.ebpf.programs.library import BUDGET, build_program

__all__ = ["CASES", "FrameCase", "run_case"]

_ARP, _IPV6 = 0x0806, 0x86DD
#: Options of TCP: two NOP and a time stamp; the same and one block of a selective acknowledgement.
_TIME = bytes.fromhex("0101 080a 00000001 00000002")
_SACK = _TIME + bytes.fromhex("0101 050a 00001000 00002000")
_HTTP, _HIGH = 80, 49_152


@dataclass(frozen=True, kw_only=True)
class FrameCase:
    """A frame.

    Attributes
    ----------
    program, name : str
        What it is about.
    frame : bytes
        The frame.
    r0 : int
        What the program must return.
    published_cycles : int or None
        Of hBPF.
    """

    program: str
    name: str
    frame: bytes
    r0: int
    published_cycles: int | None = None

    def __str__(self) -> str:
        return f"{self.program}: {self.name}"

    @property
    def context(self) -> bytes:
        """What the program gets."""
        return context_of(self.frame)


def run_case(case: FrameCase, *, engine: str = "golden") -> RunResult:
    """Run a program on a frame.

    Parameters
    ----------
    case : FrameCase
        The frame.
    engine : str
        Name of an engine, see `find_engine`.

    Raises
    ------
    InputError
        If there is no such engine, or it refuses the program.
    FaultError
        If it faults, or does not return what it must.
    """
    loaded = build_program(case.program)
    (program,) = loaded.programs
    done = find_engine(engine)(
        RunRequest(loaded=loaded, program=program, context=case.context, budget=BUDGET)
    )
    if done.fault is not FaultCause.NONE:
        raise FaultError(f"{case}: ended with {done.fault.name}")
    if done.r0 != case.r0:
        raise FaultError(f"{case}: r0 = {done.r0}; it must be {case.r0}")
    return done


def _to(address: str, *, vlan: int | None = None) -> bytes:
    return ethernet(ipv4(tcp(_HIGH, _HTTP), destination=address), vlan=vlan)


def _subnet(name: str, frame: bytes, r0: int, cycles: int | None = None) -> FrameCase:
    return FrameCase(program="subnet", name=name, frame=frame, r0=r0, published_cycles=cycles)


def _port(name: str, frame: bytes, r0: int, cycles: int | None = None) -> FrameCase:
    return FrameCase(program="tcp_port_80", name=name, frame=frame, r0=r0, published_cycles=cycles)


def _sack(
    name: str,
    options: bytes,
    r0: int,
    cycles: int | None = None,
    *,
    words: int | None = None,
    protocol: int = TCP,
    kind: int = IPV4,
    vlan: int | None = None,
) -> FrameCase:
    segment = tcp(_HIGH, _HIGH, options=options, words=words, payload=bytes(range(1, 60)))
    frame = ethernet(ipv4(segment, protocol=protocol), kind=kind, vlan=vlan)
    return FrameCase(program="tcp_sack", name=name, frame=frame, r0=r0, published_cycles=cycles)


CASES = (
    _subnet("in the subnet", _to("192.168.1.1"), 1, 41),
    _subnet("its first address, with a VLAN tag", _to("192.168.1.0", vlan=7), 1),
    _subnet("its last address", _to("192.168.1.255"), 1),
    _subnet("one below", _to("192.168.0.255"), 0),
    _subnet("one above, with a VLAN tag", _to("192.168.2.0", vlan=4095), 0),
    _subnet("another network", _to("193.168.1.1"), 0),
    _subnet("ARP", ethernet(_to("192.168.1.1")[14:], kind=_ARP), 0),
    _subnet("ARP with a VLAN tag", ethernet(_to("192.168.1.1")[14:], kind=_ARP, vlan=1), 0),
    _subnet("two VLAN tags", ethernet(_to("192.168.1.1", vlan=2)[14:], kind=VLAN, vlan=1), 0),
    _port("to port 80", ethernet(ipv4(tcp(10_000, _HTTP))), 1, 92),
    _port("from port 80", ethernet(ipv4(tcp(_HTTP, 10_000))), 1),
    _port("other ports", ethernet(ipv4(tcp(10_000, 81))), 0, 107),
    _port("no IPv4", ethernet(ipv4(tcp(10_000, _HTTP)), kind=_IPV6), 0, 38),
    _port("UDP", ethernet(ipv4(tcp(10_000, _HTTP), protocol=UDP)), 0, 54),
    _port("bytes of the port in the wrong order", ethernet(ipv4(tcp(_HTTP << 8, 0))), 0),
    _port("all options, a VLAN tag", ethernet(ipv4(tcp(1, 80), options=bytes(40)), vlan=1), 1),
    _port("a header that is too short", ethernet(ipv4(tcp(1, _HTTP), words=4)), 0),
    _port("a later fragment", ethernet(ipv4(tcp(1, _HTTP), fragment=0x2001)), 0),
    _port("a first fragment", ethernet(ipv4(tcp(1, _HTTP), fragment=0x2000)), 1),
    _port("not to be fragmented", ethernet(ipv4(tcp(1, _HTTP), fragment=0x4000)), 1),
    _port("a frame that is cut off", ethernet(ipv4(tcp(1, _HTTP)))[:36], 0),
    _sack("a time stamp and a SACK", _SACK, 1, 302),
    _sack("a time stamp", _TIME, 0, 217),
    _sack("behind a VLAN tag", _SACK, 1, vlan=9),
    _sack("UDP", _SACK, 0, protocol=UDP),
    _sack("no IPv4", _SACK, 0, kind=_IPV6),
    _sack("no IPv4 behind a VLAN tag", _SACK, 0, kind=_IPV6, vlan=9),
    _sack("no options", b"", 0),
    _sack("behind the end of options", bytes([0, 5, 10, 0]), 0),
    _sack("SACK permitted, which is another option", bytes([4, 2, 1, 1]), 0),
    _sack("behind the shortest option", bytes([4, 2, 5, 2]), 1),
    _sack("the last byte of the longest header", bytes([1] * 39 + [5]), 1),
    _sack("the first byte of the data", bytes([1] * 19 + [1, 5, 1, 1, 1]), 0, words=10),
    _sack("NOP to the end", bytes([1] * 40), 0),
    _sack("an option of no length", bytes([8, 0, 5, 2]), 0),
    _sack("an option of length 1", bytes([8, 1, 5, 2]), 0),
    _sack("an option without its length", bytes([1, 1, 1, 8, 5, 5, 5, 5]), 0, words=6),
    _sack("an option that goes on behind the header", bytes([8, 255, 5, 5]), 0),
    _sack("a header that is too short", _SACK, 0, words=4),
    _sack("a header without room for options", _SACK, 0, words=5),
)
