"""How a replica batches."""

from dataclasses import dataclass
from typing import Literal, get_args

from fanweave.golden.errors import InputError

__all__ = ["ROLES", "ReplicaConfig", "Role"]

Role = Literal["both", "prefill", "decode"]
ROLES: tuple[str, ...] = get_args(Role)


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
    intake_ps : int
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
    intake_ps: int = 0
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
        if self.intake_ps < 0:
            raise InputError(f"intake_ps = {self.intake_ps} must not be negative")
        if self.role not in ROLES:
            raise InputError(f"role = {self.role!r} must be one of {', '.join(ROLES)}")
