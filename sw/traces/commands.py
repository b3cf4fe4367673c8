"""``fanweave trace``: makes traces and shows what is in them."""

import dataclasses
import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from fanweave.golden.llama.config import PROJECTIONS
from fanweave.golden.llama.fetch import SMOLLM2
from fanweave.sw.traces.capture import CaptureRequest, capture, layout_of_pruning
from fanweave.sw.traces.importers import ImportRequest, import_trace
from fanweave.sw.traces.importers.request import ORIENTATIONS
from fanweave.sw.traces.library import SHIPPED, open_trace
from fanweave.sw.traces.options import (
    command_line,
    encoding_options,
    load_model,
    model_options,
    output_option,
    parse_format,
    parse_layout,
    parse_pruning,
    prune_with_progress,
    read_calibration,
)
from fanweave.sw.traces.synthesize import MODELS, synthesize
from fanweave.sw.traces.trace import Layout, Operand, Trace

__all__ = ["trace"]

_PROMPT = (
    "A sparse matrix is a matrix in which most of the elements are zero. To multiply it with a "
    "vector, one only needs to look at"
)
_NON_NEGATIVE = click.IntRange(min=0)
_projection_option = click.option(
    "--projection",
    "projections",
    multiple=True,
    type=click.Choice(list(PROJECTIONS)),
    help="Take only this one; may be repeated. Without it all seven.",
)


@click.group()
def trace() -> None:
    """Make sparse layer traces, and show what is in them."""


def _save(made: Trace, output: Path) -> None:
    made.save(output)
    _show(made, str(output))


def _layout_text(operand: Operand) -> str:
    if operand.layout is Layout.N_OF_M:
        return f"{operand.n}:{operand.m}"
    return operand.layout.value


def _show(shown: Trace, title: str) -> None:
    origin = shown.metadata["origin"]
    table = Table(title=title, title_justify="left")
    table.add_column("operand", no_wrap=True)
    for heading in ("K x N", "format", "layout"):
        table.add_column(heading)
    for heading in ("weights", "zero weights", "zero activations", "prefill", "decode"):
        table.add_column(heading, justify="right")
    table.add_column("origin")
    for operand in shown.operands:
        table.add_row(
            operand.name,
            f"{operand.shape[0]} x {operand.shape[1]}",
            operand.element_format.name.lower(),
            _layout_text(operand),
            str(operand.nnz),
            f"{operand.weight_sparsity:.1%}",
            f"{operand.activation_sparsity:.1%}",
            str(operand.phases.count("prefill")),
            str(operand.phases.count("decode")),
            origin,
        )
    # A table cut to the width of a pipe would be useless; on a terminal it still wraps.
    console = Console()
    console = console if console.is_terminal else Console(width=160)
    console.print(table)
    for key, value in sorted(shown.metadata.items()):
        if key not in ("origin", "scales"):
            console.print(f"{key}: {value}", markup=False, highlight=False)


@trace.command("capture")
@model_options
@click.option("--layer", "layers", multiple=True, type=_NON_NEGATIVE, help="May be repeated.  [15]")
@_projection_option
@click.option("--prompt", default=_PROMPT, help="What the model reads.")
@click.option("--prefill", type=_NON_NEGATIVE, default=8, show_default=True)
@click.option("--decode", type=_NON_NEGATIVE, default=4, show_default=True)
@click.option("--method", default="duogpt", show_default=True, help="none|magnitude|wanda|duogpt")
@click.option("--weights", default="0.5", show_default=True, help="Share of zeros, or N:M.")
@click.option("--activations", default="0.5", show_default=True, help="Share of zeros.")
@click.option("--columns", type=_NON_NEGATIVE, default=0, help="Keep the first N outputs only.")
@encoding_options
@output_option
@click.pass_context
def capture_command(
    context: click.Context,
    model_path: Path | None,
    calibration: Path | None,
    calibration_tokens: int,
    layers: tuple[int, ...],
    projections: tuple[str, ...],
    prompt: str,
    prefill: int,
    decode: int,
    method: str,
    weights: str,
    activations: str,
    columns: int,
    format_name: str,
    layout: str,
    output: Path,
) -> None:
    """Prune a real model, run it on a prompt, and keep what its projections multiply.

    \b
    Example:
      fanweave model fetch
      fanweave trace capture --layer 15 --method duogpt --weights 2:4 --format e4m3 \\
          -o layer15.safetensors
    """
    pruning = parse_pruning(method, weights, activations)
    request = CaptureRequest(
        layers=layers or (15,),
        projections=projections or tuple(PROJECTIONS),
        prefill=prefill,
        decode=decode,
        element_format=parse_format(format_name),
        choice=parse_layout(layout) or layout_of_pruning(pruning),
        columns=columns,
    )
    model, tokenizer = load_model(model_path)
    tokens = read_calibration(tokenizer, calibration, calibration_tokens)
    pruned = prune_with_progress(model, tokens, pruning)
    metadata = {
        "model": SMOLLM2.name if model_path is None else model_path.name,
        "pruning": pruning.label,
        "calibration": f"{len(tokens)} tokens",
        "command": command_line(context),
    }
    if model_path is None:
        metadata["license"] = SMOLLM2.license
    _save(capture(pruned, tokenizer.encode(prompt), request, metadata.items()), output)


@trace.command("synth")
@click.option("--model", type=click.Choice(list(MODELS)), default="llama-3-8b", show_default=True)
@_projection_option
@click.option("--weights", type=float, default=0.5, show_default=True, help="Share of zeros.")
@click.option("--activations", type=float, default=0.5, show_default=True, help="Share of zeros.")
@click.option("--prefill", type=_NON_NEGATIVE, default=2, show_default=True)
@click.option("--decode", type=_NON_NEGATIVE, default=1, show_default=True)
@click.option("--rows", type=_NON_NEGATIVE, default=0, help="Keep the first K inputs only.")
@click.option("--columns", type=_NON_NEGATIVE, default=0, help="Keep the first N outputs only.")
@click.option("--seed", type=_NON_NEGATIVE, default=0, show_default=True)
@encoding_options
@output_option
def synth_command(
    model: str,
    projections: tuple[str, ...],
    weights: float,
    activations: float,
    prefill: int,
    decode: int,
    rows: int,
    columns: int,
    seed: int,
    format_name: str,
    layout: str,
    output: Path,
) -> None:
    """Make a random trace with a model's shapes; it is marked as synthetic everywhere.

    \b
    Example:
      fanweave trace synth --model llama-3-8b --projection q_proj --weights 0.6 \\
          --columns 256 -o llama-q.safetensors
    """
    made = synthesize(
        model=model,
        projections=projections or tuple(PROJECTIONS),
        weight_sparsity=weights,
        activation_sparsity=activations,
        choice=parse_layout(layout),
        element_format=parse_format(format_name),
        prefill=prefill,
        decode=decode,
        rows=rows,
        columns=columns,
        seed=seed,
    )
    _save(made, output)


@trace.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--orientation",
    type=click.Choice(ORIENTATIONS),
    default="out-in",
    show_default=True,
    help="How the file holds its weights; out-in is transposed.",
)
@click.option("--tensor", "tensors", multiple=True, help="Shell pattern of names; may be repeated.")
@click.option(
    "--activations",
    "activation_file",
    type=click.Path(path_type=Path),
    help=".npy [tokens, inputs], or .npz with one for each operand; random without it.",
)
@click.option("--activation-sparsity", type=float, default=0.5, show_default=True)
@click.option("--prefill", type=_NON_NEGATIVE, default=2, show_default=True)
@click.option("--decode", type=_NON_NEGATIVE, default=1, show_default=True)
@click.option("--seed", type=_NON_NEGATIVE, default=0, show_default=True)
@encoding_options
@output_option
@click.pass_context
def import_command(
    context: click.Context,
    file: Path,
    orientation: str,
    tensors: tuple[str, ...],
    activation_file: Path | None,
    activation_sparsity: float,
    prefill: int,
    decode: int,
    seed: int,
    format_name: str,
    layout: str,
    output: Path,
) -> None:
    """Make a trace from weights in safetensors (dense with zeros, or compressed-tensors
    bitmasks), scipy .npz, MatrixMarket .mtx or DLMC .smtx.

    \b
    Example:
      fanweave trace import model.safetensors --tensor '*layers.3.mlp*' -o layer3.safetensors
    """
    request = ImportRequest(
        orientation=orientation,
        tensors=tensors,
        element_format=parse_format(format_name),
        choice=parse_layout(layout),
        activations=activation_file,
        activation_sparsity=activation_sparsity,
        prefill=prefill,
        decode=decode,
        seed=seed,
    )
    made = import_trace(file, request)
    metadata = {**made.metadata, "command": command_line(context)}
    _save(dataclasses.replace(made, metadata=metadata), output)


@trace.command("show")
@click.argument("name_or_path", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the metadata as JSON instead.")
def show_command(name_or_path: str | None, as_json: bool) -> None:
    """Show a trace, shipped or from a file; without an argument list the shipped ones.

    \b
    Example:
      fanweave trace show smollm2-layer
    """
    if name_or_path is None:
        for name in sorted(SHIPPED):
            click.echo(name)
        return
    opened = open_trace(name_or_path)
    if as_json:
        click.echo(json.dumps(dict(opened.metadata), indent=2, sort_keys=True))
        return
    _show(opened, name_or_path)
