"""The driver against a model of the registers: what it asks for, says and refuses."""

from dataclasses import replace

import pytest

from fanweave.golden.ebpf.build import leave, mov
from fanweave.golden.ebpf.program import Program
from fanweave.golden.errors import FaultError, InputError
from fanweave.golden.isa.ebpf_machine import DEFAULT_BUDGET
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.golden.isa.ebpf_registers import COUNTERS
from fanweave.sw.ebpf.driver import EngineDriver, over, run_now
from fanweave.sw.ebpf.object.contents import map_contents
from fanweave.sw.ebpf.object.maps_json import maps_to_json
from fanweave.sw.ebpf.object.model import ObjectFile, ObjectMap


def program(value, length=2, name="program"):
    return Program.of([mov(0, value)] * (length - 1) + [leave()], name)


def test_an_engine_says_what_it_is(model, tiny):
    bus, driver = model()
    assert driver.config == tiny
    assert bus.get("budget") == DEFAULT_BUDGET
    run_now(driver.set_budget(9))
    assert bus.get("budget") == 9
    run_now(driver.set_default_verdict(0x1122_3344_5566_7788))
    assert bus.long("default_verdict") == 0x1122_3344_5566_7788


def test_something_else_on_the_bus_is_refused(model):
    bus, _ = model()
    bus.set("magic", 0x1234)
    with pytest.raises(InputError, match="register magic is 0x1234; an engine has 0x65425046"):
        run_now(EngineDriver.identify(over(bus)))


def test_another_version_is_refused(model):
    bus, _ = model()
    bus.set("version", 7 << 16)
    with pytest.raises(InputError, match="registers of version 7; the driver knows version 1"):
        run_now(EngineDriver.identify(over(bus)))


def test_an_engine_that_never_ends_is_a_fault(model):
    _, driver = model(busy_reads=1 << 30)
    with pytest.raises(FaultError, match="register program_status is busy after"):
        run_now(driver.programs.install(0, program(1)))


def test_counters_have_64_bits(model):
    bus, driver = model()
    for at, (name, _) in enumerate(COUNTERS):
        bus.set_long(f"counter_{name}", at << 32 | 5)
    assert run_now(driver.counters()) == {
        name: at << 32 | 5 for at, (name, _) in enumerate(COUNTERS)
    }


# Programs


def test_a_program_is_loaded_and_bound(model):
    bus, driver = model(busy_reads=3)
    image = run_now(driver.programs.install(2, program(1)))
    assert bus.bound == {2: image}
    base, count = bus.images[image]
    assert [bus.slots[base + at] for at in range(count)] == [0x1_0000_00B7, 0x95]


def test_a_program_is_replaced_while_events_run_the_old_one(model):
    bus, driver = model()
    old = run_now(driver.programs.install(0, program(1)))
    bus.in_use.add(old)
    new = run_now(driver.programs.install(0, program(2, 5)))
    assert bus.bound == {0: new}
    assert set(bus.images) == {old, new}
    bus.in_use.clear()
    run_now(driver.programs.tidy())
    assert set(bus.images) == {new}
    # Its memory is given out again.
    third = run_now(driver.programs.install(1, program(3)))
    assert bus.images[third] == (0, 2)


def test_a_program_is_removed(model):
    bus, driver = model()
    run_now(driver.programs.install(0, program(1)))
    run_now(driver.programs.remove(0))
    assert bus.bound == {}
    assert bus.images == {}


def test_a_refusal_names_the_instruction(model):
    bus, driver = model()
    bad = [mov(0, 1), replace(mov(3, 4), src=2), leave()]
    with pytest.raises(
        InputError, match=r"program 'wrong': the engine refuses slot 1 \(.*b7 23 .*\): the instr"
    ):
        run_now(driver.programs.install(0, Program.of(bad, "wrong")))
    assert bus.bound == {}
    # What was written for it is free again.
    run_now(driver.programs.install(0, program(1)))
    assert list(bus.images.values()) == [(0, 2)]


def test_a_program_that_does_not_fit(model, tiny):
    _, driver = model()
    with pytest.raises(InputError, match="number 8 is none; the engine has programs = 8"):
        run_now(driver.programs.install(8, program(1)))
    with pytest.raises(InputError, match="it needs 129 slots in a row; the engine has slots = 128"):
        run_now(driver.programs.install(0, program(1, 129)))
    for number in range(tiny.images):
        run_now(driver.programs.install(number, program(1)))
    with pytest.raises(InputError, match="all images = 4 of the engine are taken"):
        run_now(driver.programs.install(5, program(1)))


# Maps


@pytest.mark.parametrize("seed", range(4))
def test_maps_of_every_type_are_those_of_golden(model, specs, scenario, seed):
    _, driver = model(busy_reads=seed % 2)

    async def run():
        await driver.maps.create(specs)
        plays = scenario(driver, specs, seed=seed)
        for _ in range(60):
            for number, spec in enumerate(specs):
                if spec.kind is not MapType.RINGBUF:
                    await plays.step(number)
        await plays.compare()
        return plays.golden, {n: await driver.maps.items(n) for n in range(len(specs))}

    golden, contents = run_now(run())
    loaded = ObjectFile(
        name="maps",
        programs=(),
        maps=tuple(ObjectMap(spec=spec, section=".maps") for spec in specs),
    )
    tables = [n for n, spec in enumerate(specs) if spec.kind is MapType.PROG_ARRAY]
    for number in tables:  # there are no programs to name
        contents[number] = []
    expected = {**map_contents(golden), **{number: [] for number in tables}}
    assert maps_to_json(loaded, contents) == maps_to_json(loaded, expected)


def test_records_of_a_ring(model, specs):
    bus, driver = model()
    run_now(driver.maps.create(specs))
    number = len(specs) - 1
    ring = bus.maps[number]

    def put(content, keep=True):
        place = ring.reserve(len(content))
        ring.memory[place : place + len(content)] = content
        ring.finish(place, keep=keep)

    for turn in range(12):  # around the ring
        record = bytes([turn]) * (turn + 9)
        put(record)
        put(b"dropped", keep=False)
        assert run_now(driver.maps.items(number)) == [(b"", record)]
        assert run_now(driver.maps.consume(number)) == record
        assert run_now(driver.maps.consume(number)) is None
    ring.reserve(8)
    put(b"behind")
    assert run_now(driver.maps.items(number)) == []
    assert run_now(driver.maps.consume(number)) is None


def test_making_maps_again_leaves_none_of_the_old_ones(model, specs):
    bus, driver = model()
    run_now(driver.maps.create(specs))
    run_now(driver.maps.update(0, bytes(7), bytes(20)))
    run_now(driver.maps.create(specs[:2]))
    assert set(bus.maps) == {0, 1}
    assert run_now(driver.maps.items(0)) == []
    with pytest.raises(InputError, match="map 2 is none; the engine has 2 maps"):
        run_now(driver.maps.items(2))


def test_maps_that_cannot_be(model, specs):
    bus, driver = model()
    wrong = replace(specs[1], key_size=8)
    with pytest.raises(InputError, match="'array' of type ARRAY has key_size = 8; it must be 4"):
        run_now(driver.maps.create([specs[0], wrong]))
    with pytest.raises(InputError, match="17 maps; the engine has room for maps = 16"):
        run_now(driver.maps.create([specs[1]] * 17))
    assert bus.maps == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.update(0, bytes(6), bytes(20)), "'hash': the key has 6 bytes; it must have 7"),
        (lambda m: m.update(0, bytes(7), bytes(4)), "the value has 4 bytes; it must have 20"),
        (lambda m: m.update(3, bytes(4), bytes(36)), "the value has 36 bytes; it must have 12"),
        (lambda m: m.push(7, bytes(9)), "'queue': the value has 9 bytes; it must have 10"),
        (lambda m: m.delete(7, b""), "'queue' is of type QUEUE, which has no DELETE"),
        (lambda m: m.pop(0), "'hash' is of type HASH, which has no POP"),
        (lambda m: m.update(9, b"", b""), "'ringbuf' is of type RINGBUF, which has no UPDATE"),
        (lambda m: m.update(1, bytes(4), bytes(100), 1), "'array': flags = 1; values of more than"),
        (lambda m: m.update(2, bytes(4), b"\0\1\0\0"), "256 names nothing; numbers are less than"),
    ],
)
def test_what_a_host_may_not_ask_for(model, specs, call, message):
    _, driver = model()
    run_now(driver.maps.create(specs))
    with pytest.raises(InputError, match=message):
        run_now(call(driver.maps))


def test_long_values_of_hash_maps_are_refused(model, specs):
    _, driver = model()
    run_now(driver.maps.create([replace(specs[0], value_size=65)]))
    with pytest.raises(InputError, match="value_size = 65; a host copies values of operand_bytes"):
        run_now(driver.maps.update(0, bytes(7), bytes(65)))


def test_a_bus_that_waits_is_no_plain_one():
    async def waits():
        class Never:
            def __await__(self):
                yield

        await Never()

    with pytest.raises(RuntimeError, match="its bus does not answer at once"):
        run_now(waits())
