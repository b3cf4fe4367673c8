"""Content-addressed cache of builds on disk, safe against crashes and concurrent runs."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fanweave.sim.runner.progress import Progress

__all__ = ["BuildCache", "CacheEntry", "content_key"]

_MARKER = "complete.json"
_PARTIAL = ".partial"


def content_key(parts: Sequence[str]) -> str:
    """Return a key for a sequence of texts; no two different sequences share it in practice."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:24]


@dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """A finished build.

    Attributes
    ----------
    folder
        Where it is; holds until the cache is pruned.
    cached
        Whether it was there before.
    seconds
        Time it took to obtain.
    """

    folder: Path
    cached: bool
    seconds: float


class BuildCache:
    """Folder of builds, one a key.

    A build is made beside its place and renamed into it when it is whole, so a run that is
    killed leaves nothing that looks finished. Each entry records the size and hash of its
    products; one that does not match any more is built again. A lock a key keeps two processes
    from doing the same work.

    Parameters
    ----------
    root
        Folder of the cache; made when needed.
    keep
        Number of entries that stay.
    max_bytes
        Total size that stays; the entry used last always does.
    """

    def __init__(self, root: Path, *, keep: int = 20, max_bytes: int = 2 << 30) -> None:
        self.root = root
        self.keep = keep
        self.max_bytes = max_bytes

    def obtain(
        self,
        key: str,
        build: Callable[[Path], Sequence[Path]],
        *,
        label: str,
    ) -> CacheEntry:
        """Return the entry of `key`, building it first if it is missing or damaged.

        Parameters
        ----------
        key
            From `content_key`.
        build
            Called with an empty folder; returns the products in it that must stay intact.
        label
            What is being built, for the progress line.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        folder = self.root / key
        with Progress(label) as progress, self._lock(key):
            cached = self._is_whole(folder)
            if not cached:
                shutil.rmtree(folder, ignore_errors=True)
                partial = self.root / f"{key}{_PARTIAL}"
                shutil.rmtree(partial, ignore_errors=True)
                partial.mkdir()
                try:
                    self._seal(partial, build(partial))
                    partial.rename(folder)
                finally:
                    shutil.rmtree(partial, ignore_errors=True)
            else:
                os.utime(folder / _MARKER)
            seconds = progress.seconds
        if not cached:
            self.prune()
        return CacheEntry(folder=folder, cached=cached, seconds=seconds)

    def prune(self) -> None:
        """Remove the entries used longest ago, beyond the limits in number and size."""
        used = []
        for marker in self.root.glob(f"*/{_MARKER}"):
            try:
                used.append((marker.stat().st_mtime_ns, marker.parent))
            except FileNotFoundError:  # another process is pruning, too
                continue
        total = 0
        for position, (_, folder) in enumerate(sorted(used, reverse=True)):
            total += _folder_bytes(folder)
            if position >= self.keep or (position and total > self.max_bytes):
                with self._lock(folder.name):
                    shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _lock(self, key: str) -> Iterator[None]:
        locks = self.root / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        with open(locks / key, "w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    @staticmethod
    def _seal(folder: Path, products: Sequence[Path]) -> None:
        record = {str(product.relative_to(folder)): _fingerprint(product) for product in products}
        (folder / _MARKER).write_text(json.dumps(record))

    @staticmethod
    def _is_whole(folder: Path) -> bool:
        try:
            record = json.loads((folder / _MARKER).read_text())
            return bool(record) and all(
                _fingerprint(folder / name) == mark for name, mark in record.items()
            )
        except (OSError, ValueError, AttributeError):
            return False


def _fingerprint(file: Path) -> str:
    with open(file, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _folder_bytes(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size
        except FileNotFoundError:
            continue
    return total
