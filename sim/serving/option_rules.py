"""Which options of ``fanweave serve`` go together; one that would do nothing is refused."""

import click
from click.core import ParameterSource

__all__ = ["check_options"]

#: What lays a measured model over devices and starts its kernels.
_DEPLOYMENT = (
    "tensor",
    "pipeline",
    "replicas",
    "prefill_replicas",
    "decode_replicas",
    "kv_blocks",
    "kv_bits",
    "asynchronous",
    "graphs",
    "kernel_us",
    "eager_us",
    "graph_us",
    "sustained",
    "intake_us",
    "link_gbps",
)
_BATCHING = ("max_sequences", "token_budget", "block_tokens", "prefix_caching")
_LIMITS = ("ttft", "tpot", "end_to_end")

#: Option -> options of which one has to be given with it.
_NEEDS = {
    **dict.fromkeys(("model", "scheduler", "elements", "explained"), ("platform",)),
    "explain_phase": ("explained",),
    "cache_hits": ("compare",),
    **dict.fromkeys(("share", "find_rate"), _LIMITS),
}
#: Option -> options that it leaves without an effect, and why.
_EXCLUDES = {
    "platform": (
        (*_DEPLOYMENT, "profile_name", "compare", "cache_hits"),
        "it is for measured devices",
    ),
    "compare": ((*_DEPLOYMENT, *_BATCHING), "the server is as it was measured"),
}


def check_options() -> None:
    """Refuse options of the running command that do not go together, before anything runs.

    Raises
    ------
    click.UsageError
        Names the options.
    """
    context = click.get_current_context()
    flags = {each.name: "/".join((*each.opts, *each.secondary_opts)) for each in _options(context)}
    given = [
        name for name in flags if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    for name, needed in _NEEDS.items():
        if name in given and not any(each in given for each in needed):
            words = " or ".join(flags[each] for each in needed)
            raise click.UsageError(f"{flags[name]} does nothing without {words}")
    for name, (others, why) in _EXCLUDES.items():
        for other in others:
            if name in given and other in given:
                raise click.UsageError(f"{flags[other]} does not go with {flags[name]}: {why}")


def _options(context: click.Context) -> list[click.Parameter]:
    return [each for each in context.command.params if each.name is not None]
