"""What the verifier accepts never faults, and never executes more than it says."""

import random

import pytest

from fanweave.golden.ebpf.build import (
    alu,
    atomic,
    call,
    copy,
    goto,
    helper,
    jump,
    leave,
    load,
    map_of,
    mov,
    store,
    store_imm,
    wide,
)
from fanweave.golden.ebpf.machine import Machine
from fanweave.golden.ebpf.maps import MapSpec, create_map
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf import AluOperation, Instruction, JumpOperation, Size
from fanweave.golden.isa.ebpf_machine import FaultCause
from fanweave.golden.isa.ebpf_maps import MapFlag, MapType
from fanweave.sim.benches.ebpf.linux_programs import CONTEXT_BYTES, verifiable_program
from fanweave.sim.benches.ebpf.random_programs import random_program
from fanweave.sw.ebpf.verifier import ContextRule, Rule, VerificationError, explorer, verify

A, J = AluOperation, JumpOperation
BUDGET = 4_000
STEPS = 20_000
CONTEXT = 64
ALU = [A.ADD, A.SUB, A.MUL, A.DIV, A.OR, A.AND, A.LSH, A.RSH, A.MOD, A.XOR, A.ARSH]
CONDITIONS = [operation for operation in J if operation not in (J.JA, J.CALL, J.EXIT)]
NUMBERS = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    15,
    16,
    31,
    32,
    63,
    255,
    -1,
    -2,
    -8,
    -128,
    0x7FFFFFFF,
    -(1 << 31),
]


def spec(name, kind, key=4, value=8, entries=4, flags=0):
    return MapSpec(
        name=name, kind=kind, key_size=key, value_size=value, max_entries=entries, flags=flags
    )


SPECS = (
    spec("array", MapType.ARRAY, value=20),
    spec("hash", MapType.HASH),
    spec("constants", MapType.ARRAY, value=16, entries=1, flags=MapFlag.RDONLY_PROG),
    spec("ring", MapType.RINGBUF, key=0, value=0, entries=256),
    spec("queue", MapType.QUEUE, key=0),
    spec("outer", MapType.ARRAY_OF_MAPS, value=4),
    spec("lru", MapType.LRU_HASH, entries=2),
    spec("trie", MapType.LPM_TRIE, key=8),
    spec("programs", MapType.PROG_ARRAY, value=4),
    spec("log", MapType.ARRAY, flags=MapFlag.WRONLY_PROG),
    spec("engine", MapType.PERCPU_ARRAY),
)
INNER = {5: SPECS[0]}
#: What a program does next, by how often it does.
WAYS = [
    *("arithmetic", "arithmetic", "context", "moved", "moved", "stack", "stack", "lookup"),
    *("lookup", "update", "value", "inner", "queue", "record", "output", "call", "tail"),
    *("condition", "condition", "condition", "loop"),
]


def slots(part):
    return sum(instruction.slots for instruction in part)


class Writer:
    """Writes programs that mostly treat addresses as they should be treated, at the edges."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def size(self):
        return self.pick(list(Size))

    def scalar(self):
        """A register that mostly holds a number; r6 holds the context, r7 and r8 addresses."""
        return self.pick([0, 3, 4, 5, 9])

    def number_of_context(self, register):
        return [load(register, 6, self.pick(range(CONTEXT - 8)), self.size())]

    def anew(self, *registers):
        """What a call left unset."""
        return [load(register, 6, self.random.randrange(CONTEXT - 8)) for register in registers]

    def arithmetic(self):
        register, other = self.scalar(), self.scalar()
        bits = self.pick([64, 64, 32])
        operation = self.pick(ALU)
        if self.random.random() < 0.15:
            extend = self.pick([8, 16, 32] if bits == 64 else [8, 16])
            return [alu(A.MOV, register, other, bits=bits, offset=extend)]
        if self.random.random() < 0.1:
            return [alu(A.END, register, imm=self.pick([16, 32, 64]), bits=bits)]
        offset = self.pick([0, 1]) if operation in (A.DIV, A.MOD) else 0
        if self.random.random() < 0.4:
            return [alu(operation, register, other, bits=bits, offset=offset)]
        imm = self.pick([*NUMBERS, self.random.randrange(-300, 300)])
        return [alu(operation, register, imm=imm, bits=bits, offset=offset)]

    def limited(self, register):
        """A number that is small afterwards, by a mask, a remainder or a condition."""
        limit = self.pick([1, 2, 3, 4, 7, 8, 12, 15, 16])
        way = self.random.random()
        if way < 0.4:
            return [alu(A.AND, register, imm=limit)]
        if way < 0.6:
            return [alu(A.MOD, register, imm=limit, bits=self.pick([32, 64]))]
        bits = self.pick([32, 64])
        zero = [] if bits == 64 else [alu(A.MOV, register, register, bits=32)]
        fall = [mov(register, self.random.randrange(limit + 1))]
        return [*zero, jump(J.JLE, register, len(fall), imm=limit, bits=bits), *fall]

    def access(self, base, room):
        """A load, a store or an atomic operation at an address, mostly within its memory."""
        size = self.size()
        offset = self.pick([0, 0, room - size.bytes, self.random.randrange(-1, room + 1)])
        way = self.random.random()
        if way < 0.45:
            signed = size is not Size.DW and self.random.random() < 0.3
            return [load(self.scalar(), base, offset, size, signed=signed)]
        if way < 0.75:
            return [store(base, self.scalar(), offset, size)]
        if way < 0.9:
            return [store_imm(base, self.random.randrange(100), offset, size)]
        size = self.pick([Size.W, Size.DW])
        offset -= offset % size.bytes
        return [atomic(self.pick([0, 1, 0x41, 0xE1, 0xF1]), base, self.scalar(), offset, size)]

    def moved(self, base, room):
        """An access somewhere behind an address."""
        register = self.scalar()
        shift = self.pick([0, 0, 0, 2, 3])
        return [
            *(self.number_of_context(register) if self.random.random() < 0.7 else []),
            *self.limited(register),
            *([alu(A.LSH, register, imm=shift)] if shift else []),
            copy(7, base),
            alu(A.ADD, 7, register),
            *self.access(7, max(room - (self.pick([0, 7, 15]) << shift), 1)),
        ]

    def stack(self):
        way = self.random.random()
        place = -8 * self.random.randrange(1, 9)
        if way < 0.3:
            return [store(10, self.pick([6, 7, 8, 0, 3, 4]), place)]
        if way < 0.6:
            return [load(self.pick([7, 8, 0, 3, 9]), 10, place)]
        if way < 0.8:
            return [copy(7, 10), alu(A.ADD, 7, imm=place), *self.access(7, 8)]
        register = self.scalar()
        return [
            *self.number_of_context(register),
            *self.limited(register),
            copy(7, 10),
            alu(A.ADD, 7, register),
            self.pick([load(register, 7, -64, Size.B), store(7, register, -64, self.size())]),
        ]

    def key(self, key):
        store_key = store_imm(10, self.random.randrange(6), -8, Size.W)
        if self.random.random() < 0.3:
            store_key = store(10, self.scalar(), -8, Size.W)
        return [store_imm(10, 8, -4, Size.W), store_key, copy(2, 10), alu(A.ADD, 2, imm=-key)]

    def lookup(self):
        number = self.pick([0, 0, 1, 2, 6, 7, 9, 10])
        keep = self.pick([7, 8])
        found = SPECS[number]
        body = [copy(keep, 0), *self.access(keep, found.value_size)]
        if self.random.random() < 0.7:
            body += self.moved(keep, found.value_size)
        if self.random.random() < 0.3:
            body += self.arithmetic()
        check = jump(J.JEQ, 0, slots(body), imm=0)
        if self.random.random() < 0.1:
            check = jump(J.JNE, 0, slots(body), imm=0)
        if self.random.random() < 0.03:
            check = mov(4, 0)
        call_it = [map_of(1, number), helper(1), *self.anew(3, 4, 5)]
        return [*self.key(8), *call_it, check, *body, *self.anew(0)]

    def inner(self):
        body = [
            *(copy(1, 0), copy(2, 10), alu(A.ADD, 2, imm=-8), helper(1)),
            *(jump(J.JEQ, 0, 1, imm=0), load(3, 0, 0, self.size())),
        ]
        check = jump(J.JEQ, 0, len(body), imm=0)
        return [*self.key(8), map_of(1, 5), helper(1), check, *body, *self.anew(0, 3, 4, 5)]

    def value(self):
        number = self.pick([0, 2])
        place = self.random.randrange(SPECS[number].value_size + 1)
        room = SPECS[number].value_size - place
        return [wide(8, number | place << 32, kind=2), *self.access(8, max(room, 1))]

    def update(self):
        number = self.pick([0, 1, 2, 6, 7, 10])
        return [
            *self.key(8),
            *(map_of(1, number), copy(3, 10), alu(A.ADD, 3, imm=-24), mov(4, self.pick([0, 0, 1]))),
            helper(self.pick([2, 2, 3])),
            *self.anew(3, 4, 5),
        ]

    def queue(self):
        return [
            *(map_of(1, 4), copy(2, 10), alu(A.ADD, 2, imm=-16), mov(3, 0)),
            helper(self.pick([87, 88, 89])),
            *self.anew(3, 4, 5),
        ]

    def record(self):
        length = self.pick([8, 16, 24])
        keep = self.pick([7, 8, 9])
        body = [copy(keep, 0)]
        for _ in range(self.random.randrange(3)):
            body += self.access(keep, length)
        if self.random.random() < 0.3:
            body += [store(10, keep, -40), mov(keep, 0), load(keep, 10, -40)]
        if self.random.random() < 0.2:
            body += self.limited(self.scalar())
        body += [copy(1, keep), mov(2, 0), helper(self.pick([132, 133]))]
        if self.random.random() < 0.03:
            body = [copy(keep, 0)]
        reserve = [map_of(1, 3), mov(2, length), mov(3, 0), helper(131), *self.anew(3, 4, 5)]
        return [*reserve, jump(J.JEQ, 0, slots(body), imm=0), *body, *self.anew(0, 3, 4, 5)]

    def output(self):
        register = self.scalar()
        return [
            *self.number_of_context(register),
            *self.limited(register),
            *(copy(2, 10), alu(A.ADD, 2, imm=self.pick([-16, -24, -64])), copy(3, register)),
            *(map_of(1, 3), mov(4, 0), helper(130), *self.anew(3, 4, 5)),
        ]

    def tail_call(self):
        tail = [copy(1, 6), map_of(2, 8), mov(3, self.random.randrange(3)), helper(12)]
        return [*tail, *self.anew(3, 4, 5)]

    def function_call(self):
        self.called = True
        argument = self.pick([copy(2, 10), copy(2, 6), copy(2, 7), mov(2, 5)])
        result = self.pick([[], [copy(0, 0)], [mov(9, 1), alu(A.ADD, 9, 0)]])
        return [copy(1, 6), argument, call(0), *result, *self.anew(0, 3, 4, 5)]

    def condition(self, depth):
        body = self.block(depth - 1) if depth else self.arithmetic()
        other = self.block(depth - 1) if depth and self.random.random() < 0.3 else []
        if other:
            body = [*body, goto(slots(other))]
        operation, bits = self.pick(CONDITIONS), self.pick([32, 64, 64])
        if self.random.random() < 0.3:
            head = jump(operation, self.scalar(), slots(body), self.scalar(), bits=bits)
        else:
            imm = self.pick(NUMBERS)
            head = jump(operation, self.scalar(), slots(body), imm=imm, bits=bits)
        return [head, *body, *other]

    def loop(self, depth):
        body = self.block(depth - 1)
        if self.random.random() < 0.7:
            register = self.pick([9, 5])
            turn = [alu(A.ADD, register, imm=1)]
            back = jump(J.JLT, register, -slots(body) - 2, imm=self.pick([2, 5, 17]))
            return [mov(register, 0), *body, *turn, back]
        register = self.scalar()
        turn = [alu(A.RSH, register, imm=self.pick([1, 4]))]
        back = jump(J.JNE, register, -slots(body) - 2, imm=0)
        return [*body, *turn, back]

    def block(self, depth):
        made = []
        for _ in range(self.random.randrange(1, 4)):
            way = self.pick(WAYS)
            match way:
                case "context":
                    made += self.number_of_context(self.scalar())
                case "moved":
                    made += self.moved(6, CONTEXT)
                case "condition":
                    made += self.condition(depth)
                case "loop":
                    made += self.loop(depth) if depth else self.arithmetic()
                case "call":
                    made += self.function_call() if self.allow_calls else self.arithmetic()
                case "tail":
                    made += self.tail_call() if self.random.random() < 0.3 else []
                case _:
                    made += getattr(self, way)()
        return made

    def begin(self):
        fill = [store_imm(10, 0, -8 * place) for place in range(1, 9)]
        start = [load(register, 6, 8 * at) for at, register in enumerate((0, 3, 4, 5, 9))]
        return [copy(6, 1), *fill, *start, copy(7, 6), copy(8, 6)]

    def program(self, *, functions=True):
        self.called, self.allow_calls = False, functions
        body = [*self.begin(), *self.block(2), *self.block(2)]
        body += [mov(0, 0), leave()] if self.random.random() < 0.95 else [leave()]
        if self.called:
            self.allow_calls = False
            function = [*self.begin(), copy(7, 2), *self.block(1)]
            if self.random.random() < 0.5:
                function += self.access(7, 8)
            function += [self.pick([mov(0, 3), copy(0, 7), copy(0, 8)]), leave()]
            entry, place = slots(body), 0
            for number, instruction in enumerate(body):
                place += instruction.slots
                if instruction == call(0):
                    body[number] = call(entry - place)
            body += function
        return Program.of(self.mutated(body), "written")

    def mutated(self, body):
        """Now and then a field is another one."""
        body = list(body)
        while self.random.random() < 0.25:
            at = self.random.randrange(len(body))
            old = body[at]
            change = self.pick(["dst", "src", "offset", "imm", "drop"])
            fields = {name: getattr(old, name) for name in ("dst", "src", "offset", "imm", "high")}
            if change == "drop" and not old.is_wide:
                body[at] = mov(4, 3)
                continue
            if change in ("dst", "src"):
                fields[change] = self.random.randrange(11)
            elif change == "offset":
                fields["offset"] += self.pick([-8, -1, 1, 2, 8])
            elif change == "imm":
                fields["imm"] = self.pick(NUMBERS)
            body[at] = Instruction(old.opcode, **fields)
        return body


#: What a tail call goes on in; the second goes on in itself.
OTHERS = {
    0: Program.of([load(0, 1, 3, Size.B), leave()], "other"),
    1: Program.of([map_of(2, 8), mov(3, 1), helper(12), mov(0, 1), leave()], "again"),
}


def machine(generator, budget):
    """A machine whose maps hold something."""
    maps = [create_map(each) for each in SPECS]
    for number in range(4):
        key = number.to_bytes(4, "little")
        for at in (0, 1, 6, 10):
            maps[at].update(key, generator.randbytes(SPECS[at].value_size))
    maps[7].update((8).to_bytes(4, "little") + bytes(4), bytes(8))
    maps[5].update(bytes(4), bytes(4))
    for number in range(2):
        maps[8].update(number.to_bytes(4, "little"), number.to_bytes(4, "little"))
    return Machine(maps, programs=OTHERS, budget=budget)


def contexts(generator, count, size=CONTEXT):
    for _ in range(count):
        choices = generator.choice([range(256), (0, 0, 1, 255), (0, 0, 0, 0, 7, 8, 128)])
        yield bytearray(generator.choice(choices) for _ in range(size))


def decide(program, maps=SPECS, rule=None, programs=OTHERS):
    """The verifier's report, or its refusal."""
    try:
        return verify(
            *(program, maps),
            context=rule or ContextRule.exactly(CONTEXT),
            budget=BUDGET,
            programs=programs,
            inner=INNER if maps else None,
            max_steps=STEPS,
        )
    except InputError as refusal:
        return refusal


def check(program, seed, *, maps=SPECS, rule=None, runs=12, programs=OTHERS):
    """Verify a program and run it if it is accepted; returns whether it is."""
    rule = rule or ContextRule.exactly(CONTEXT)
    report = decide(program, maps, rule, programs)
    if isinstance(report, InputError):
        return False
    generator = random.Random(seed)
    for _ in range(runs):
        host = machine(generator, report.worst_case_instructions)
        size = generator.randrange(rule.least, rule.most + 1)
        for context in contexts(generator, 1, size):
            before = bytes(context)
            outcome = host.run(program, context, time_ns=generator.getrandbits(40))
            assert outcome.fault is FaultCause.NONE, (
                f"{program.name} of seed {seed} faults at {outcome.slot} with {before.hex()}: "
                f"{outcome.fault.name} after {outcome.instructions}"
            )
            assert outcome.instructions <= report.worst_case_instructions
    return True


@pytest.mark.parametrize("group", range(4))
def test_programs_with_addresses(group):
    accepted = sum(
        check(Writer(seed).program(), seed, runs=6)
        for seed in range(group * 400, group * 400 + 400)
    )
    assert accepted > 60


def test_arbitrary_programs_are_refused_in_words():
    for seed in range(1_000):
        refusal = decide(random_program(seed), maps=(), programs=None)
        assert isinstance(refusal, InputError)
        assert refusal.args[0].startswith(f"random {seed}")


def test_random_programs_that_linux_accepts():
    rule = ContextRule.exactly(CONTEXT_BYTES)
    programs = [verifiable_program(seed) for seed in range(60)]
    assert all(
        check(program, seed, maps=(), programs=None, rule=rule, runs=4)
        for seed, program in enumerate(programs)
    )


def test_programs_that_were_changed_a_little():
    rule = ContextRule.exactly(CONTEXT_BYTES)
    accepted = 0
    for seed in range(400):
        writer = Writer(seed)
        body = verifiable_program(seed % 40).instructions
        for _ in range(3):
            body = writer.mutated(body)
        program = Program.of(body, f"changed {seed}")
        accepted += check(program, seed, maps=(), programs=None, rule=rule, runs=4)
    assert 100 < accepted < 400


def test_states_that_are_not_followed_again_have_nothing_new(monkeypatch):
    """All paths, and those that are left when states are kept at every turn, say the same."""
    covers = explorer.covers
    monkeypatch.setattr(explorer, "_SPACING", 0)
    covered = accepted = 0
    for seed in range(10_000, 10_500):
        program = Writer(seed).program()
        monkeypatch.setattr(explorer, "covers", covers)
        report = decide(program)
        monkeypatch.setattr(explorer, "covers", lambda old, new: False)
        every = decide(program)
        if isinstance(every, VerificationError) and every.rule is Rule.COMPLEXITY:
            continue
        assert isinstance(report, InputError) == isinstance(every, InputError), f"seed {seed}"
        if not isinstance(report, InputError):
            assert every.worst_case_instructions <= report.worst_case_instructions, f"seed {seed}"
            accepted += 1
            covered += report.covered
    assert accepted > 80
    assert covered > 40


@pytest.mark.parametrize("group", range(2))
def test_programs_with_states_kept_at_every_turn(group, monkeypatch):
    monkeypatch.setattr(explorer, "_SPACING", 0)
    seeds = range(20_000 + group * 300, 20_300 + group * 300)
    assert sum(check(Writer(seed).program(), seed, runs=6) for seed in seeds) > 40
