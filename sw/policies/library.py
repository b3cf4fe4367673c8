"""The policies by name: sources, maps, and the loaded object files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType

from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import EVENT_BYTES
from fanweave.sw.ebpf.object.compiler import compile_c
from fanweave.sw.ebpf.object.contents import Contents
from fanweave.sw.ebpf.object.elf_reader import read_elf
from fanweave.sw.ebpf.object.loader import load_object, types_of
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectProgram
from fanweave.sw.ebpf.verifier import ContextRule, Report, verify
from fanweave.sw.policies.named_maps import MapEntries, NamedMaps
from fanweave.sw.policies.values import MapTypes, Value

__all__ = [
    "POLICIES",
    "SETTINGS",
    "BuiltPolicy",
    "MapEntries",
    "Policy",
    "build_policy",
    "find_policy",
]

_PROGRAMS = Path(__file__).resolve().parent / "programs"
#: The map with a policy's settings, one value at key 0.
SETTINGS = ".rodata.settings"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A program of the switch.

    Attributes
    ----------
    name : str
        Of the program and of its source.
    decides : str
        In a line.
    budget : int
        Instructions that no event may exceed.
    host : mapping of str to str
        Maps that the host fills -> with what.
    found : mapping of str to str
        Maps that it reads or leaves alone -> what is in them.
    records : mapping of str to str
        Ring buffers -> structure of their records.
    """

    name: str
    decides: str
    budget: int
    host: Mapping[str, str]
    found: Mapping[str, str] = field(default_factory=dict)
    records: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> Path:
        """The C file."""
        return _PROGRAMS / f"{self.name}.c"


_ALL = (
    Policy(
        name="hot_pages",
        decides="promotes pages that are used often, counted exactly",
        budget=80,
        host={SETTINGS: "threshold, epoch, size of pages, port of the near memory"},
        found={"pages": "uses of the pages that were used last"},
    ),
    Policy(
        name="hot_pages_sketch",
        decides="the same, counted by a count-min sketch",
        budget=128,
        host={
            SETTINGS: "threshold, epoch, size of pages, port of the near memory",
            "sketches": "counters; the host sets them to zero before their epoch",
        },
        found={"asked": "pages that were asked for"},
    ),
    Policy(
        name="stride_prefetch",
        decides="advises lines ahead of streams with a constant stride",
        budget=80,
        host={SETTINGS: "size of regions, equal strides that make a stream, strides ahead"},
        found={"streams": "histories", "prefetches": "advice; the host takes it"},
    ),
    Policy(
        name="load_tokens",
        decides="delays requests for tokens, by the load that devices report",
        budget=64,
        host={SETTINGS: "step and highest price", "weights": "of hosts, by port"},
        found={"prices": "by island"},
    ),
    Policy(
        name="access_control",
        decides="denies requests that no grant of port, range and opcode allows",
        budget=64,
        host={"grants": "opcodes by prefix of port and address"},
        found={"denied": "requests, by port"},
    ),
    Policy(
        name="duplex_balance",
        decides="redirects or delays so that reads and writes on a link balance",
        budget=80,
        host={
            SETTINGS: "window and tokens",
            "copies": "islands with copies of ranges that are only read, by prefix",
        },
        found={"flows": "reads and writes on their way, by island"},
    ),
    Policy(
        name="steering",
        decides="redirects KV cache and weights to the islands where they are, and mirrors writes",
        budget=64,
        host={"routes": "island, kind and copy by prefix of port and address"},
        found={"traffic": "lines read and written, by kind"},
    ),
    Policy(
        name="spill_reads",
        decides="sends reads to copies, by what is open where their data lie",
        budget=64,
        host={
            SETTINGS: "most and least open reads, and the step between",
            "spills": "islands with copies of ranges that are only read, by prefix",
        },
        found={"taken": "what the limit of an island is below the most"},
    ),
    Policy(
        name="telemetry",
        decides="records samples and slow answers, and counts latencies",
        budget=112,
        host={SETTINGS: "sampling and what is slow"},
        found={
            ".bss.totals": "answers, and records for which there was no room",
            "latencies": "answers by the logarithm of their latency",
            "records": "samples; the host takes them",
        },
        records={"records": "record"},
    ),
)
#: By name.
POLICIES: Mapping[str, Policy] = MappingProxyType({policy.name: policy for policy in _ALL})


def find_policy(name: str) -> Policy:
    """A policy by its name.

    Raises
    ------
    InputError
        If there is none; the message names all.
    """
    if name not in POLICIES:
        raise InputError(f"policy {name!r} is not known; choose one of {', '.join(POLICIES)}")
    return POLICIES[name]


@dataclass(frozen=True, kw_only=True, eq=False)
class BuiltPolicy:
    """A policy that was compiled, loaded and verified.

    Attributes
    ----------
    policy : Policy
        What it is of.
    data : bytes
        The object file.
    loaded : ObjectFile
        Its program and maps.
    types : MapTypes
        Of keys and values.
    report : Report
        What the verifier found.
    """

    policy: Policy
    data: bytes
    loaded: ObjectFile
    types: MapTypes
    report: Report

    @property
    def program(self) -> ObjectProgram:
        """Its program."""
        return self.loaded.find_program(self.policy.name)

    @property
    def named(self) -> NamedMaps:
        """Its maps by their names."""
        return NamedMaps(self.loaded, self.types, self.policy.records)

    def contents(self, maps: Mapping[str, MapEntries]) -> Contents:
        """Entries of maps as engines take them, see `NamedMaps.contents`."""
        return self.named.contents(maps)

    def values(self, contents: Contents) -> dict[str, dict[int | bytes, Value] | list[Value]]:
        """The reverse of `contents`; values of arrays that are zero are left out."""
        return self.named.values(contents)


@cache
def build_policy(name: str, cpu: str = "v3") -> BuiltPolicy:
    """Compile, load and verify a policy; once in a process.

    Parameters
    ----------
    name : str
        One of `POLICIES`.
    cpu : str
        Version of the instruction set, see `compile_c`.

    Raises
    ------
    InputError
        If there is no such policy or no compiler, or the verifier refuses it.
    """
    policy = find_policy(name)
    data = compile_c(policy.source, cpu=cpu).data
    loaded = load_object(data, policy.source.name)
    btf, _ = types_of(read_elf(data, policy.source.name))
    assert btf is not None  # the compiler always writes types
    report = verify(
        loaded.find_program(name).program,
        [made.spec for made in loaded.maps],
        context=ContextRule.exactly(EVENT_BYTES),
        budget=policy.budget,
    )
    return BuiltPolicy(policy=policy, data=data, loaded=loaded, types=MapTypes(btf), report=report)
