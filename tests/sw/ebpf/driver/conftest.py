"""A model of the engine's registers over golden maps, as a bus that answers at once."""

import random
from dataclasses import replace

import pytest

from fanweave.golden.ebpf.config import PRESETS
from fanweave.golden.ebpf.maps import MapSpec, RingMap, create_map
from fanweave.golden.errors import FaultError
from fanweave.golden.isa.ebpf import Instruction
from fanweave.golden.isa.ebpf_engine import DESCRIPTOR, MapCommand
from fanweave.golden.isa.ebpf_legality import fault_of
from fanweave.golden.isa.ebpf_loader import LoadFault
from fanweave.golden.isa.ebpf_machine import FaultCause, map_address, map_handle
from fanweave.golden.isa.ebpf_maps import ARRAYS, QUEUES, TABLES, MapFlag, MapType
from fanweave.golden.isa.ebpf_registers import HOST_COMMANDS, LIMITS, REGISTERS
from fanweave.sw.ebpf.driver import EngineDriver, over, run_now

MASK = (1 << 64) - 1


class ModelBus:
    """Does at once what the hardware does in a while, and looks busy before it has done it.

    Parameters
    ----------
    config : EbpfConfig
        The engine.
    busy_reads : int
        Reads of a status register that still find it busy.
    """

    def __init__(self, config, busy_reads=0):
        self.config = config
        self.busy_reads = busy_reads
        self.words = {4 * r.address + 4 * w: r.reset for r in REGISTERS for w in range(r.words)}
        self.by_address = {4 * (r.address + w): (r, w) for r in REGISTERS for w in range(r.words)}
        for name, _ in LIMITS:
            self.set(f"limit_{name}", int(getattr(config, name)))
        self.waiting = {}
        self.maps = {}
        self.pitches = {}
        self.slots = [None] * config.slots
        self.images = {}
        self.bound = {}
        self.in_use = set()

    # Registers

    def set(self, name, value, word=0):
        entry = next(r for r in REGISTERS if r.name == name)
        self.words[4 * (entry.address + word)] = value & 0xFFFF_FFFF

    def get(self, name, word=0):
        entry = next(r for r in REGISTERS if r.name == name)
        return self.words[4 * (entry.address + word)]

    def long(self, name, count=2):
        return sum(self.get(name, word) << 32 * word for word in range(count))

    def set_long(self, name, value):
        self.set(name, value)
        self.set(name, value >> 32, 1)

    def bytes_of(self, name, count):
        return b"".join(self.get(name, w).to_bytes(4, "little") for w in range(-(-count // 4)))[
            :count
        ]

    def set_bytes(self, name, content):
        for at in range(0, len(content), 4):
            self.set(name, int.from_bytes(content[at : at + 4], "little"), at // 4)

    def answer(self, name, **fields):
        """Set a status register, which looks busy for some reads."""
        entry = next(r for r in REGISTERS if r.name == name)
        self.set(name, entry.pack(**fields))
        self.waiting[name] = self.busy_reads

    def read(self, address):
        entry, _ = self.by_address.get(address, (None, 0))
        if entry is None or entry.access == "wo":
            raise FaultError(f"no register to read at {address:#x}")
        if self.waiting.get(entry.name, 0):
            self.waiting[entry.name] -= 1
            return 1
        return self.words[address]

    def write(self, address, value):
        entry, _ = self.by_address.get(address, (None, 0))
        assert 0 <= value < 1 << 32
        if entry is None or entry.access == "ro":
            raise FaultError(f"no register to write at {address:#x}")
        group = entry.name.split("_")[0]
        # Words of programs follow each other as fast as they come.
        if group != "program" and self.waiting.get(f"{group}_status", 0):
            raise FaultError(f"{entry.name} is written while the engine is busy")
        self.words[address] = value
        act = getattr(self, f"do_{entry.name}", None)
        if act is not None:
            act(**{field.name: field.extract(value) for field in entry.fields})

    # Programs

    def do_program_slot(self, slot):
        self.set("program_status", 0)

    def do_program_high(self, bits):
        slot = self.get("program_slot")
        taken = any(base <= slot < base + count for base, count in self.images.values())
        if taken or slot >= len(self.slots):
            self.answer("program_status", refused=1)
        else:
            self.slots[slot] = bits << 32 | self.get("program_low")
            self.waiting["program_status"] = self.busy_reads
        self.set("program_slot", slot + 1)

    def do_commit(self, image):
        base, count = self.get("commit_base"), self.get("commit_length")
        fault, slot = LoadFault.NONE, 0
        for at in range(count):
            code = self.slots[base + at].to_bytes(8, "little")
            wrong = code[0] == 0xFF or fault_of(
                Instruction(
                    code[0],
                    dst=code[1] & 15,
                    src=code[1] >> 4,
                    offset=int.from_bytes(code[2:4], "little", signed=True),
                    imm=int.from_bytes(code[4:], "little", signed=True),
                )
            )
            if wrong:
                fault, slot = LoadFault.ILLEGAL_INSTRUCTION, at
                break
        if image in self.images:
            fault = LoadFault.COMMITTED
        if fault is LoadFault.NONE:
            self.images[image] = base, count
        self.answer("commit_status", fault=fault, slot=slot)

    def do_release(self, image):
        refused = image not in self.images or image in self.bound.values() or image in self.in_use
        if not refused:
            del self.images[image]
        self.answer("release_status", refused=int(refused))

    def do_bind(self, program, image, valid):
        refused = program >= self.config.programs or (valid and image not in self.images)
        if not refused and valid:
            self.bound[program] = image
        elif not refused:
            self.bound.pop(program, None)
        self.answer("bind_status", refused=int(refused))

    # Maps

    def do_descriptor_map(self, map):
        packed = self.long("descriptor", 8)
        it = {field.name: field.extract(packed) for field in DESCRIPTOR}
        self.maps.pop(map, None)
        if not it["valid"]:
            return
        flags = (0 if it["readable"] else MapFlag.WRONLY_PROG) | (
            0 if it["writable"] else MapFlag.RDONLY_PROG
        )
        spec = MapSpec(
            name=f"map {map}",
            kind=MapType(it["kind"]),
            key_size=it["key_bytes"],
            value_size=it["value_bytes"],
            max_entries=it["entries"],
            flags=flags,
        )
        self.maps[map] = create_map(spec, engines=self.config.engines)
        self.pitches[map] = 8 * it["pitch_words"]

    def do_operation(self, command, flags, map, engine):
        made = self.maps.get(map)
        command = MapCommand(command)
        if made is None or command not in HOST_COMMANDS[made.spec.kind]:
            raise FaultError(f"the engine refuses {command.name} of map {map}")
        found, value = self.operate(command, made, map, flags, engine)
        self.set_long("operation_result", value & MASK)
        self.answer("operation_status", found=int(found))

    def operate(self, command, made, number, flags, engine):
        spec = made.spec
        key = self.bytes_of("operation_key", spec.key_size)
        stored = self.bytes_of("operand", spec.value_size)
        place = self.get("operation_place")
        length = self.get("operation_length")
        if command is MapCommand.CREATE:
            self.maps[number] = create_map(spec, engines=self.config.engines)
            return 0, 0
        if command in (MapCommand.UPDATE, MapCommand.DELETE):
            if spec.kind in TABLES:
                stored = length.to_bytes(4, "little")
            if command is MapCommand.DELETE:
                return 0, made.delete(key)
            return 0, made.update(key, stored, flags, engine)
        if command in (MapCommand.READ, MapCommand.LOOKUP):
            if spec.kind in TABLES:
                entry = made.entry(int.from_bytes(key, "little"))
                is_map = spec.kind is MapType.ARRAY_OF_MAPS
                return entry is not None, (
                    0 if entry is None else map_handle(entry) if is_map else entry
                )
            at = (made.lookup if command is MapCommand.LOOKUP else made.find)(key, engine)
            # The hardware says nothing of tries but the address.
            is_trie = spec.kind is MapType.LPM_TRIE
            return at is not None and not is_trie, 0 if at is None else map_address(number) + at
        if command is MapCommand.KEY:
            for canonical, slot in made.slots.items():
                if slot == place:
                    written = getattr(made, "written", {}).get(canonical, canonical)
                    self.set_bytes("read_back", written)
                    return 1, 0
            return 0, 0
        if command is MapCommand.PUSH:
            return 0, made.push(stored, flags)
        if command in (MapCommand.POP, MapCommand.PEEK):
            result, value = made.pop() if command is MapCommand.POP else made.peek()
            if result == 0:
                self.set_bytes("read_back", value)
            return result == 0, result
        return self.operate_on_positions(command, made, place)

    def operate_on_positions(self, command, made, place):
        if command is MapCommand.QUERY:
            if made.spec.kind in QUEUES:
                # The oldest value lies anywhere; here always in place 1.
                return 0, {2: 1, 3: len(made.values)}[place]
            return 0, made.query(place)
        if command is MapCommand.ADVANCE:
            return made.consume() is not None, 0
        for position, record in made._closed():
            if record is not None:
                start = position - 8 - -(-len(record) // 8) * 8
                return 1, (start % made.spec.max_entries + 8) << 32 | len(record)
        return 0, 0

    def memory_of(self, number):
        """The bytes of a map that the engine's memory of values holds."""
        made, pitch = self.maps[number], self.pitches[number]
        if made.spec.kind in QUEUES:
            memory = bytearray(pitch * made.spec.max_entries)
            for at, value in enumerate(made.values):
                start = (at + 1) % made.spec.max_entries * pitch
                memory[start : start + len(value)] = value
            return memory
        if isinstance(made, RingMap):
            size = made.spec.max_entries
            return made.memory[:size] + made.memory[:size]
        return made.memory

    def do_access(self, bytes, stores):
        number, place = divmod(self.get("access_address") - map_address(0), 1 << 22)
        memory = self.memory_of(number)
        size = self.maps[number].spec.value_size
        is_ring = isinstance(self.maps[number], RingMap)
        if not is_ring and (
            place + bytes > len(memory) or place % self.pitches[number] + bytes > size
        ):
            self.answer("access_status", cause=FaultCause.OUT_OF_BOUNDS)
            return
        if stores:
            memory[place : place + bytes] = self.bytes_of("access_data", bytes)
        else:
            content = memory[place : place + bytes]
            self.set_long("access_result", int.from_bytes(content, "little"))
        self.answer("access_status")


@pytest.fixture
def tiny():
    """A small engine that has room for a map of each type."""
    return replace(PRESETS["tiny"], maps=16, engines=2)


@pytest.fixture
def model(tiny):
    """A bus of a model, and a driver on it."""

    def make(busy_reads=0):
        bus = ModelBus(tiny, busy_reads)
        return bus, run_now(EngineDriver.identify(over(bus)))

    return make


@pytest.fixture
def specs():
    """A map of each type; the long array is longer than what the engine copies."""

    def make(kind, key_size, value_size, max_entries, flags=0):
        return MapSpec(
            name=kind.name.lower(),
            kind=kind,
            key_size=key_size,
            value_size=value_size,
            max_entries=max_entries,
            flags=flags,
        )

    made = [
        make(MapType.HASH, 7, 20, 6),
        make(MapType.ARRAY, 4, 100, 3, MapFlag.RDONLY_PROG),
        make(MapType.PROG_ARRAY, 4, 4, 4),
        make(MapType.PERCPU_ARRAY, 4, 12, 3),
        make(MapType.LRU_HASH, 16, 8, 4, MapFlag.WRONLY_PROG),
        make(MapType.LPM_TRIE, 8, 9, 5),
        make(MapType.ARRAY_OF_MAPS, 4, 4, 3),
        make(MapType.QUEUE, 0, 10, 3),
        make(MapType.STACK, 0, 10, 3),
        make(MapType.RINGBUF, 0, 0, 128, MapFlag.WRONLY_PROG),
    ]
    assert {spec.kind for spec in made} == set(MapType)
    return made


class Scenario:
    """Random operations by a driver and on golden maps, all with the same results."""

    def __init__(self, driver, specs, *, seed):
        self.driver = driver
        self.specs = specs
        self.random = random.Random(seed)
        self.golden = [create_map(spec, engines=driver.config.engines) for spec in specs]

    def key(self, spec):
        if spec.kind is MapType.LPM_TRIE:
            length = self.random.choice([0, 1, 9, 16, 32, 33])
            return length.to_bytes(4, "little") + bytes(self.random.choices([0, 128, 255], k=4))
        if spec.kind in ARRAYS | TABLES:
            return self.random.randrange(spec.max_entries + 1).to_bytes(4, "little")
        return bytes([self.random.randrange(9)]) * spec.key_size

    def value(self, spec):
        if spec.kind in TABLES:
            return self.random.randrange(8).to_bytes(4, "little")
        count = spec.value_size
        if spec.kind is MapType.PERCPU_ARRAY:
            count *= self.random.choice([1, self.driver.config.engines])
        return self.random.randbytes(count)

    def flags(self, spec):
        choices = [0, 0, 2] if spec.kind is MapType.ARRAY else [0, 0, 0, 1, 2, 3, 9]
        return self.random.choice(choices)

    def golden_update(self, made, key, value, flags):
        if made.spec.kind in QUEUES:
            return made.push(value, flags)
        if made.spec.kind is not MapType.PERCPU_ARRAY:
            return made.update(key, value, flags)
        size, engines = made.spec.value_size, self.driver.config.engines
        parts = [value[at : at + size] for at in range(0, len(value), size)]
        parts *= engines if len(parts) == 1 else 1
        results = [made.update(key, part, flags, engine=n) for n, part in enumerate(parts)]
        return next((result for result in results if result), 0)

    def golden_lookup(self, made, key):
        if made.spec.kind in TABLES:
            entry = made.entry(int.from_bytes(key, "little"))
            return None if entry is None else entry.to_bytes(4, "little")
        if made.spec.kind is not MapType.PERCPU_ARRAY:
            return made.get(key)
        parts = [made.get(key, engine) for engine in range(self.driver.config.engines)]
        return None if None in parts else b"".join(parts)

    async def step(self, number):
        """One operation."""
        spec, made, maps = self.specs[number], self.golden[number], self.driver.maps
        key, value, flags = self.key(spec), self.value(spec), self.flags(spec)
        kind = self.random.choice(["update", "update", "look", "drop"])
        if kind == "update":
            wanted = self.golden_update(made, key, value, flags)
            assert await maps.update(number, key, value, flags) == wanted, (spec, key, flags)
        elif spec.kind in QUEUES:
            result, wanted = made.peek() if kind == "look" else made.pop()
            got = await (maps.peek if kind == "look" else maps.pop)(number)
            assert got == (None if result else wanted)
        elif kind == "look":
            assert await maps.lookup(number, key) == self.golden_lookup(made, key), (spec, key)
        else:
            assert await maps.delete(number, key) == made.delete(key), (spec, key)

    async def compare(self):
        """All contents are the same, in the same order."""
        for number, made in enumerate(self.golden):
            assert await self.driver.maps.items(number) == list(made.items()), made.spec


@pytest.fixture
def scenario():
    return Scenario
