"""What a tenant's program tries, and what another tenant notices of it: nothing.

Host 0 has two logical devices at port 2, host 1 one at port 3. Programs are not verified here: they
may try what a verifier refuses. Golden runs them too, on a machine where nobody else is.
"""

import pytest

from fanweave.golden.cxl.latency import ANSWER_CYCLES, REQUEST_CYCLES
from fanweave.golden.cxl.messages import message
from fanweave.golden.cxl.tables import range_writes
from fanweave.golden.ebpf.build import (
    alu,
    copy,
    goto,
    helper,
    leave,
    load,
    map_of,
    mov,
    store,
    wide,
)
from fanweave.golden.ebpf.maps import MapSpec
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.cxl_event import Channel, ReqOpcode, Verdict, VerdictAction
from fanweave.golden.isa.cxl_switch import MAX_VERDICT_CYCLES, PAGE_BYTES
from fanweave.golden.isa.ebpf import AluOperation
from fanweave.golden.isa.ebpf_helpers import HELPERS
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sim.benches.cxl.policed import play_policed
from fanweave.sim.benches.cxl.records import Asked, Gave, Planned, Told, Took, Wrote
from fanweave.sim.benches.cxl.traffic import SETUP_CYCLES, matching
from fanweave.sim.benches.cxl.verilated import Devices
from fanweave.sw.ebpf.object.model import Function, ObjectFile, ObjectMap, ObjectProgram
from fanweave.sw.ebpf.verifier import ContextRule, verify

from .conftest import ISLAND

pytestmark = pytest.mark.verilator

A = VerdictAction
LINES = PAGE_BYTES // 64
OWN, OTHERS = 2, 3
DEVICE_CYCLES = 5
#: Of host 1's way without anything in it.
WAY = REQUEST_CYCLES + DEVICE_CYCLES + ANSWER_CYCLES
SECRET = 0x5EC2E7_0BADF00D
PASS = [mov(0, 0), leave()]
ENDLESS = [goto(-1), leave()]
LOOKUP = next(number for number, entry in HELPERS.items() if entry.name == "map_lookup_elem")
#: Uses all that a program may leave behind.
SECRETIVE = [
    wide(6, SECRET),
    store(10, 6, -8),
    store(10, 6, -16),
    *(copy(number, 6) for number in (0, 1, 2, 3, 4, 5, 7, 8, 9)),
    mov(0, 0),
    leave(),
]


def says(action, **fields):
    """A program that always says this."""
    return [wide(0, Verdict(action=action, **fields).encode()), leave()]


def tenants(*programs, maps=()):
    made = []
    for number, instructions in enumerate(programs):
        program = Program.of(instructions)
        whole = Function(name=f"tenant_{number}", section="", start=0, slots=len(program.slots))
        made.append(ObjectProgram(name=whole.name, section="", program=program, functions=(whole,)))
    return ObjectFile(name="tenants", programs=tuple(made), maps=maps)


def surroundings():
    """Bindings and ranges: page 1 of host 0 is in its second logical device."""
    switch = ISLAND.switch
    entries = {entry.name: entry for entry in switch.registers}
    bindings = (("0_0", OWN, 0), ("0_1", OWN, 2), ("1_0", OTHERS, 1))
    writes = [
        (entries[f"binding_{name}"], {"bound": 1, "port": port, "ld_id": ld_id})
        for name, port, ld_id in bindings
    ]
    writes += [(entries[f"tokens_{host}"], {"rate": 1, "limit": 0xFFFF}) for host in range(2)]
    for entry, fields in writes:
        yield Planned(cycle=0, sent=Wrote(entry.address, entry.pack(**fields)))
    for host, target in ((0, 1), (1, 0)):
        for write in range_writes(
            switch, host=host, number=0, first=PAGE_BYTES, size=PAGE_BYTES, targets=[target]
        ):
            yield Planned(cycle=0, sent=Wrote(*write))


def traffic(requests=60, gap=40):
    yield from surroundings()
    for host in range(2):
        for number in range(requests):
            line = LINES + number % LINES
            read = message(Channel.M2S_REQ, opcode=ReqOpcode.MEM_RD, address=line)
            yield Planned(cycle=SETUP_CYCLES + gap * number + host, port=host, sent=read)


def play(first, second=None, *, maps=(), contents=None, budget=200):
    """Host 0's program is asked about all its requests; so is host 1's, if it has one."""
    rules = [*matching(ISLAND.switch, skip=0, hosts=1, inline=True)]
    if second is not None:
        rules += matching(ISLAND.switch, skip=0, hosts=2, number=1, program=1, inline=True)
    seen = []
    devices = Devices(delay=(DEVICE_CYCLES, DEVICE_CYCLES), single=True)
    checker, _, _ = play_policed(
        ISLAND,
        tenants(first, second or PASS, maps=maps),
        contents or {},
        traffic(),
        rules=rules,
        budget=budget,
        limit=200_000,
        devices=devices,
        seen=seen,
    )
    return checker, seen


def of_host_1(seen):
    """When its messages come and go, at its own port and at its device's."""
    return [
        (record.cycle, type(record.what), record.what.port, record.what.message.channel)
        for record in seen
        if isinstance(record.what, Took | Gave) and record.what.port in (1, OTHERS)
    ]


def latencies(seen, host):
    open_at, found = {}, []
    for record in seen:
        if not isinstance(record.what, Took | Gave) or record.what.port != host:
            continue
        tag = record.what.message["tag"]
        if isinstance(record.what, Took):
            open_at[tag] = record.cycle
        else:
            found.append(record.cycle - open_at.pop(tag))
    return found


def verdicts(seen, program):
    """What a program of this number said."""
    asked = {}
    for record in seen:
        match record.what:
            case Asked(tag, number, _):
                asked[tag] = number
            case Told(tag, r0, failed) if asked.pop(tag) == program:
                yield None if failed else r0


@pytest.fixture(scope="module")
def undisturbed():
    return of_host_1(play(PASS)[1])


def test_this_is_what_host_1_has_alone(undisturbed):
    assert len(undisturbed) == 4 * 60


@pytest.mark.parametrize(
    "program",
    [
        says(A.REDIRECT, island=OTHERS),
        says(A.MIRROR, island=OTHERS),
        says(A.PROMOTE, island=OTHERS),
        says(A.PROMOTE, island=OWN),
        says(A.DELAY, tokens=0xFFFF),
        says(A.DENY),
        ENDLESS,
    ],
    ids=["redirect", "mirror", "promote", "promote-own", "delay", "deny", "endless"],
)
def test_no_verdict_reaches_or_delays_another_tenant(undisturbed, program):
    checker, seen = play(program)
    assert of_host_1(seen) == undisturbed
    at_device = [
        record.what.message["ld_id"]
        for record in seen
        if isinstance(record.what, Gave) and record.what.port == OTHERS
    ]
    assert set(at_device) == {1}
    assert checker.count["begin"] == (program[0] == says(A.PROMOTE, island=OWN)[0])


def test_a_program_that_never_ends_costs_others_their_verdicts_at_most():
    """Their requests go on after the bound that they chose themselves."""
    checker, seen = play(ENDLESS, PASS, budget=5000)
    assert checker.settled
    found = latencies(seen, 1)
    assert len(found) == 60
    assert max(found) <= WAY + MAX_VERDICT_CYCLES


@pytest.mark.parametrize(
    "thief",
    [
        [load(0, 10, -8), leave()],
        [load(0, 10, -16), leave()],
        *([copy(0, number), leave()] for number in (3, 4, 5, 6, 7, 8, 9)),
    ],
)
def test_nothing_of_another_program_is_left_behind(thief):
    """The golden machine runs each event on a memory of its own, and the two agree."""
    _, seen = play(thief, SECRETIVE)
    told = list(verdicts(seen, 0))
    assert len(told) == 60
    assert SECRET not in told


def map_of_tenant(number):
    spec = MapSpec(name=f"of_{number}", kind=MapType.ARRAY, key_size=4, value_size=8, max_entries=1)
    return ObjectMap(spec=spec, section=".maps")


MAPS = (map_of_tenant(0), map_of_tenant(1))


def find(number):
    """r0 is the place of the value of key 0 of a map."""
    return [
        mov(1, 0),
        store(10, 1, -8),
        map_of(1, number),
        copy(2, 10),
        alu(AluOperation.ADD, 2, imm=-8),
        helper(LOOKUP),
    ]


@pytest.mark.parametrize("offset", [8, -8, 4, 4096, -4096])
def test_a_value_ends_where_it_ends(offset):
    contents = {1: [(bytes(4), SECRET.to_bytes(8, "little"))]}
    _, seen = play([*find(0), load(0, 0, offset), leave()], maps=MAPS, contents=contents)
    assert set(verdicts(seen, 0)) == {None}


@pytest.mark.parametrize(
    "program",
    [
        [*find(1), load(0, 0, 0), leave()],
        [wide(1, 1 << 32), load(0, 1, 0), leave()],
        [load(0, 10, -8), leave()],
        [load(0, 1, 64), leave()],
    ],
    ids=["map", "address", "stack", "event"],
)
def test_the_verifier_lets_a_tenant_have_only_its_own_maps(program):
    own = (MAPS[0].spec,)
    with pytest.raises(InputError):
        verify(Program.of(program), own, context=ContextRule.exactly(64), budget=200)
