"""How a replica batches."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from fanweave.golden.errors import InputError

__all__ = ["ROLES", "IntakeModel", "ReplicaConfig", "Role"]

Role = Literal["both", "prefill", "decode"]
ROLES: tuple[str, ...] = get_args(Role)


@dataclass(frozen=True, kw_only=True)
class IntakeModel:
    """Time of the host to take in one request.

    A host that has slept through a long step is slower than one that has just worked. So it is
    `ps` behind nothing and behind steps of up to `short_ps`, `slow_ps` behind those of
    `long_ps` and more, and on the line between for the others.
    """

    ps: int = 0
    slow_ps: int = 0
    short_ps: int = 0
    long_ps: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.ps <= self.slow_ps or not 0 <= self.short_ps < self.long_ps:
            raise InputError(f"{self} needs 0 <= ps <= slow_ps and 0 <= short_ps < long_ps")

    def behind(self, step_ps: int) -> int:
        """Picoseconds for each request behind a step of this length; 0: behind none."""
        part = min(max(step_ps - self.short_ps, 0), self.long_ps - self.short_ps)
        return self.ps + (self.slow_ps - self.ps) * part // (self.long_ps - self.short_ps)


@dataclass(frozen=True, kw_only=True)
class ReplicaConfig:
    """Batching of a replica.

    Attributes
    ----------
    max_sequences : int
        Requests that run at the same time.
    token_budget : int
        Tokens of a step, decode and prefill together; long prompts are cut to fit.
    block_tokens : int
        Tokens of a block of the cache.
    kv_blocks : int
        Blocks of the cache.
    prefix_caching : bool
        Whether blocks of equal prefixes are shared and kept.
    asynchronous : bool
        Whether a step is scheduled while the one before it runs, as it is with one pipeline
        stage. Then a request that arrives waits for the step that is scheduled already.
    intake : IntakeModel
        Time of the host to take in one request.
    role : str
        ``"both"``; ``"prefill"``: hands requests over after their first token; ``"decode"``:
        takes them.
    """

    max_sequences: int = 128
    token_budget: int = 2048
    block_tokens: int = 16
    kv_blocks: int
    prefix_caching: bool = True
    asynchronous: bool = True
    intake: IntakeModel = field(default_factory=IntakeModel)
    role: Role = "both"

    def __post_init__(self) -> None:
        for name in ("max_sequences", "token_budget", "block_tokens", "kv_blocks"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} = {getattr(self, name)} must be at least 1")
        if self.token_budget < self.max_sequences:
            raise InputError(
                f"token_budget = {self.token_budget} is less than max_sequences = "
                f"{self.max_sequences}: a step must hold a token of each; raise the budget"
            )
        if self.role not in ROLES:
            raise InputError(f"role = {self.role!r} must be one of {', '.join(ROLES)}")
