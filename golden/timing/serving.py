"""Puts a profile, a deployment and a batching together to replicas that serve a trace."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fanweave.golden.dops.calibration.profile import DeviceProfile
from fanweave.golden.errors import InputError
from fanweave.golden.timing.cluster import Cluster, KvLink, ReplicaSpec, ServingRun
from fanweave.golden.timing.config import IntakeModel, ReplicaConfig, Role
from fanweave.golden.timing.deployment import Deployment
from fanweave.golden.timing.energy import Power
from fanweave.golden.timing.invariants import check_run
from fanweave.golden.timing.measured_costs import MeasuredCosts
from fanweave.golden.timing.requests import RequestTrace

__all__ = ["ServerOptions", "build_cluster", "serve"]


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Everything about a server but its device and model.

    Attributes
    ----------
    deployment : Deployment
        Devices of each replica.
    replicas : int
        Replicas that prefill and decode, if no numbers by role are given.
    prefill_replicas, decode_replicas : int
        Replicas that do one of both; 0 if none.
    max_sequences, token_budget, block_tokens : int
        See `ReplicaConfig`.
    kv_blocks : int
        Blocks of the cache of a replica; 0: what the memory of its devices holds.
    prefix_caching, asynchronous, intake
        See `ReplicaConfig`.
    """

    deployment: Deployment = field(default_factory=Deployment)
    replicas: int = 1
    prefill_replicas: int = 0
    decode_replicas: int = 0
    max_sequences: int = 128
    token_budget: int = 2048
    block_tokens: int = 16
    kv_blocks: int = 0
    prefix_caching: bool = True
    asynchronous: bool = True
    intake: IntakeModel = field(default_factory=IntakeModel)

    def __post_init__(self) -> None:
        if bool(self.prefill_replicas) != bool(self.decode_replicas):
            raise InputError(
                f"prefill_replicas = {self.prefill_replicas} and decode_replicas = "
                f"{self.decode_replicas}: give both, or neither"
            )
        for name, least in (
            ("replicas", 1),
            ("prefill_replicas", 0),
            ("decode_replicas", 0),
            ("kv_blocks", 0),
            ("block_tokens", 1),
        ):
            if getattr(self, name) < least:
                raise InputError(f"{name} = {getattr(self, name)} must be at least {least}")

    @property
    def roles(self) -> Sequence[Role]:
        """Role of each replica."""
        together: Role = "both"
        apart: tuple[Role, Role] = ("prefill", "decode")
        if self.prefill_replicas:
            return [apart[0]] * self.prefill_replicas + [apart[1]] * self.decode_replicas
        return [together] * self.replicas


def build_cluster(profile: DeviceProfile, options: ServerOptions) -> Cluster:
    """Make the replicas of a server.

    Raises
    ------
    InputError
        If the model does not fit on its devices.
    """
    deployment = options.deployment
    costs = MeasuredCosts(profile, deployment)
    token_bytes = deployment.kv_bytes_per_token(profile.card)
    capacity = deployment.kv_capacity_bytes(profile.card, profile.memory_bytes)
    blocks = options.kv_blocks or capacity // (token_bytes * options.block_tokens)
    power = Power.of_devices(profile.energy, deployment.devices)
    specs = [
        ReplicaSpec(
            costs=costs,
            power=power,
            config=ReplicaConfig(
                max_sequences=options.max_sequences,
                token_budget=options.token_budget,
                block_tokens=options.block_tokens,
                kv_blocks=blocks,
                prefix_caching=options.prefix_caching,
                asynchronous=options.asynchronous,
                intake=options.intake,
                role=role,
            ),
        )
        for role in options.roles
    ]
    link = KvLink(
        bytes_per_s=deployment.link_bytes_per_s,
        latency_ps=deployment.link_latency_ps,
        bytes_per_token=token_bytes,
    )
    return Cluster(specs, link)


def serve(
    trace: RequestTrace,
    profile: DeviceProfile,
    options: ServerOptions,
    *,
    keep_steps: bool = False,
) -> ServingRun:
    """Serve a trace and check the run; `keep_steps` as of `Cluster.serve`.

    Raises
    ------
    InputError
        If the model or a request does not fit.
    FaultError
        If an invariant does not hold.
    """
    run = build_cluster(profile, options).serve(trace, keep_steps=keep_steps)
    check_run(run)
    return run
