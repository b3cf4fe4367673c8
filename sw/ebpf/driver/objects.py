"""Puts an object file into an engine: its maps, what is in them, its programs."""

from fanweave.golden.errors import InputError
from fanweave.golden.isa.ebpf_maps import MapType
from fanweave.sw.ebpf.driver.driver import EngineDriver
from fanweave.sw.ebpf.object.contents import Contents, initial_contents, refused_entry
from fanweave.sw.ebpf.object.model import ObjectFile

__all__ = ["install_object", "object_contents"]


async def install_object(driver: EngineDriver, loaded: ObjectFile, contents: Contents) -> None:
    """Make the maps of an object file, fill them, and install its programs by their place in it.

    Parameters
    ----------
    driver : EngineDriver
        Of an engine that has no maps or programs, or whose own may go.
    loaded : ObjectFile
        The file.
    contents : mapping
        What is put into the maps, after what the file itself says.

    Raises
    ------
    InputError
        If the engine is too small, refuses a program, or a map does not take an entry.
    """
    await driver.maps.create([made.spec for made in loaded.maps])
    for wanted in (initial_contents(loaded), contents):
        await _fill(driver, loaded, wanted)
    for number, each in enumerate(loaded.programs):
        await driver.programs.install(number, each.program)


async def object_contents(driver: EngineDriver, loaded: ObjectFile) -> Contents:
    """What is in the maps of an object file that was installed."""
    return {number: await driver.maps.items(number) for number in range(len(loaded.maps))}


async def _fill(driver: EngineDriver, loaded: ObjectFile, contents: Contents) -> None:
    for number, entries in contents.items():
        spec = loaded.maps[number].spec
        if spec.kind is MapType.RINGBUF and entries:
            raise InputError(f"map {spec.name!r} is a ring buffer, which only programs write")
        for key, value in entries:
            result = await driver.maps.update(number, key, value)
            if result:
                raise refused_entry(spec.name, key, result)
