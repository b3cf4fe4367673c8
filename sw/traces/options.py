"""Command-line options that several commands share, and what their text means."""

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import Progress

from fanweave.golden.errors import InputError
from fanweave.golden.isa.formats import ElementFormat
from fanweave.golden.llama.fetch import find_model, load_text
from fanweave.golden.llama.load import load_gguf
from fanweave.golden.llama.model import Llama
from fanweave.golden.llama.pruning import Method, Pruning, prune
from fanweave.golden.llama.tokenizer import Tokenizer
from fanweave.sw.traces.build import LayoutChoice
from fanweave.sw.traces.trace import Layout

__all__ = [
    "command_line",
    "encoding_options",
    "load_model",
    "model_options",
    "output_option",
    "parse_format",
    "parse_layout",
    "parse_pruning",
    "prune_with_progress",
    "read_calibration",
    "read_text",
]

Command = TypeVar("Command", bound=Callable[..., Any])


def _together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)

    return decorate


#: How weights and activations are encoded.
encoding_options = _together(
    click.option(
        "--format",
        "format_name",
        default="fp16",
        show_default=True,
        help="Element format: fp32, fp16, bf16, e4m3, e5m2 or int8.",
    ),
    click.option(
        "--layout",
        default="auto",
        show_default=True,
        help="auto, dense, bitmask, absolute, or N:M such as 2:4.",
    ),
)
#: Which model, and with which text it is calibrated.
model_options = _together(
    click.option(
        "--model",
        "model_path",
        type=click.Path(path_type=Path),
        help="GGUF file; without it the model that 'fanweave model fetch' brought.",
    ),
    click.option(
        "--calibration",
        type=click.Path(path_type=Path),
        help="Text file to calibrate pruning with; without it the shipped one.",
    ),
    click.option(
        "--calibration-tokens",
        type=click.IntRange(min=1),
        default=2048,
        show_default=True,
        help="How many of its tokens to use.",
    ),
)


def _check_folder(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    # Told at once, not after minutes of pruning.
    if not value.parent.is_dir():
        raise InputError(f"{value}: cannot be written, {value.parent} is no folder; create it")
    return value


output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    callback=_check_folder,
    help="Trace file to write.",
)


def parse_format(text: str) -> ElementFormat:
    """``fp16`` -> ElementFormat.FP16; InputError lists the names."""
    for element_format in ElementFormat:
        if element_format.name.lower() == text.lower():
            return element_format
    names = ", ".join(element_format.name.lower() for element_format in ElementFormat)
    raise InputError(f"format {text!r} is unknown, expected one of {names}")


def _parse_block(text: str) -> tuple[int, int]:
    n, _, m = text.partition(":")
    if not (n.isdecimal() and m.isdecimal() and 1 <= int(n) <= int(m) <= 32):
        raise InputError(f"{text!r} is no N:M sparsity, expected 1 <= N <= M <= 32, such as 2:4")
    return int(n), int(m)


def parse_layout(text: str) -> LayoutChoice | None:
    """``auto`` -> None, ``2:4`` -> n_of_m, else the layout of that name."""
    if text == "auto":
        return None
    if ":" in text:
        n, m = _parse_block(text)
        return LayoutChoice(layout=Layout.N_OF_M, n=n, m=m)
    plain = (Layout.DENSE, Layout.BITMASK, Layout.ABSOLUTE)
    for layout in plain:
        if layout.value == text:
            return LayoutChoice(layout=layout)
    names = ", ".join(layout.value for layout in plain)
    raise InputError(f"layout {text!r} is unknown, expected auto, {names}, or N:M such as 2:4")


def _parse_share(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"{what} sparsity {text!r} is no number, expected a share such as 0.5"
        ) from None


def parse_pruning(method: str, weights: str, activations: str) -> Pruning:
    """``duogpt``, ``0.5`` or ``2:4``, ``0.5`` -> Pruning; InputError names the wrong part."""
    names = [known.value for known in Method]
    if method not in names:
        raise InputError(f"pruning method {method!r} is unknown, expected {', '.join(names)}")
    share = _parse_share("activation", activations)
    if ":" in weights:
        n, m = _parse_block(weights)
        return Pruning(method=Method(method), n=n, m=m, activation_sparsity=share)
    return Pruning(
        method=Method(method),
        weight_sparsity=_parse_share("weight", weights),
        activation_sparsity=share,
    )


def load_model(path: Path | None) -> tuple[Llama, Tokenizer]:
    """The model of a file, or the one that was fetched."""
    found = path or find_model()
    if found is None:
        raise InputError(
            "the model has not been fetched; run 'fanweave model fetch', "
            "or name a GGUF file with --model"
        )
    return load_gguf(found)


def read_text(path: Path) -> str:
    """A UTF-8 text file; InputError if it is not one."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error


def read_calibration(tokenizer: Tokenizer, path: Path | None, count: int) -> list[int]:
    """The first `count` tokens of the calibration text."""
    text = load_text("calibration") if path is None else read_text(path)
    tokens = tokenizer.encode(text)[:count]
    if not tokens:
        raise InputError(f"{path}: holds no text to calibrate with")
    return tokens


def prune_with_progress(model: Llama, tokens: list[int], pruning: Pruning) -> Llama:
    """:func:`prune` with a bar on the terminal."""
    console = Console(stderr=True)
    # Into a file or a pipe a bar would only write blank lines.
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(f"pruning ({pruning.label})", total=model.config.layers)
        return prune(model, tokens, pruning, lambda layer: progress.update(task, advance=1))


def command_line(context: click.Context) -> str:
    """The command with every option that differs from its default, without file paths' folders."""
    words = ["fanweave", *context.command_path.split()[1:]]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if value is None or value == () or value == parameter.get_default(context):
            continue
        for item in value if isinstance(value, tuple) else (value,):
            text = item.name if isinstance(item, Path) else str(item)
            option = [parameter.opts[-1]] if isinstance(parameter, click.Option) else []
            words += [*option, shlex.quote(text)]
    return " ".join(words)
