"""The Verilated policy engine as an engine for object files."""

import atexit
from dataclasses import replace

from fanweave.golden.ebpf.config import EbpfConfig
from fanweave.golden.errors import InputError
from fanweave.sim.benches.ebpf.engine_design import SERVER_CONFIG
from fanweave.sim.benches.ebpf.engine_server import EngineServer
from fanweave.sim.benches.ebpf.engine_texts import show_texts
from fanweave.sw.ebpf.driver import EngineDriver, over, run_now
from fanweave.sw.ebpf.driver.objects import install_object, object_contents
from fanweave.sw.ebpf.object.engines import RunRequest, RunResult
from fanweave.sw.ebpf.object.model import ObjectFile
from fanweave.sw.ebpf.object.sizing import engine_needs

__all__ = ["config_for", "run"]

#: Simulations that are alive, by configuration; they end with this process.
_SERVERS: dict[EbpfConfig, EngineServer] = {}


def run(request: RunRequest) -> RunResult:
    """Run a program on a simulation that was reset.

    Raises
    ------
    InputError
        If the maps or programs do not fit the largest engine, or a map does not take what is put
        into it, or the engine refuses a program.
    FaultError
        If the simulation fails.
    """
    if request.trace is not None:
        raise InputError("engine rtl shows no instructions; run with --engine golden to trace")
    config = config_for(request.loaded, context_bytes=len(request.context))
    if request.waves is not None:
        with EngineServer(config, waves=True) as server:
            return run_now(_run(server, request))
    server = _server(config)
    server.reset()
    return run_now(_run(server, request))


def config_for(loaded: ObjectFile, *, context_bytes: int = 0) -> EbpfConfig:
    """The smallest engine from `SERVER_CONFIG` on that holds an object file.

    Parameters
    ----------
    loaded : ObjectFile
        Maps and programs.
    context_bytes : int
        Of the event.

    Raises
    ------
    InputError
        If none is large enough; the message names the parameter.
    """
    wanted = engine_needs(
        loaded, engines=SERVER_CONFIG.engines, prefix_lanes=SERVER_CONFIG.prefix_lanes
    )
    wanted["context_bytes"] = context_bytes
    least = {name: max(getattr(SERVER_CONFIG, name), least) for name, least in wanted.items()}
    return replace(SERVER_CONFIG, **{n: 1 << (v - 1).bit_length() for n, v in least.items()})


def _server(config: EbpfConfig) -> EngineServer:
    if config not in _SERVERS:
        _SERVERS[config] = EngineServer(config)
        atexit.register(_SERVERS[config].close)
    return _SERVERS[config]


async def _run(server: EngineServer, request: RunRequest) -> RunResult:
    driver = await EngineDriver.identify(over(server))
    loaded = request.loaded
    await driver.set_budget(request.budget)
    await install_object(driver, loaded, request.contents)
    number = next(n for n, each in enumerate(loaded.programs) if each is request.program)
    if request.waves is not None:
        server.begin_dump(request.waves)
    server.offer(request.context, tag=0, program=number)
    verdict = server.verdict()
    if request.waves is not None:
        server.end_dump()
        show_texts(request.waves, driver, loaded)
    return RunResult(
        r0=verdict.r0,
        context=verdict.context[: len(request.context)],
        contents=await object_contents(driver, loaded),
        fault=verdict.cause,
        instructions=verdict.instructions,
        cycles=verdict.end - verdict.begin,
    )
