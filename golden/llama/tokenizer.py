"""Byte-level byte-pair encoding from a vocabulary and its merges.

Sources: Sennrich et al., arXiv 1508.07909 (merges by rank); the GPT-2 tokenizer (bytes as
printable characters, the split into words). The library ``tokenizers`` would bring a client for
a model hub and a dozen further packages, for what are a hundred lines here.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fanweave.golden.errors import InputError

__all__ = ["Tokenizer", "byte_alphabet"]

#: Split of a text that holds no digits: contractions, words, signs, and runs of space.
_WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W_]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def byte_alphabet() -> list[str]:
    """The printable character that stands for each byte value 0 to 255."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [value for value in range(256) if value not in shown]
    alphabet = {value: chr(value) for value in shown}
    alphabet |= {value: chr(256 + position) for position, value in enumerate(hidden)}
    return [alphabet[value] for value in range(256)]


def _words(text: str) -> Iterator[str]:
    """Split as the model was trained: every digit alone, the rest by :data:`_WORDS`."""
    start = 0
    for position, character in enumerate(text):
        if unicodedata.category(character).startswith("N"):
            yield from _WORDS.findall(text[start:position])
            yield character
            start = position + 1
    yield from _WORDS.findall(text[start:])


class Tokenizer:
    """Text to tokens and back.

    Parameters
    ----------
    tokens : sequence of str
        The vocabulary in the byte alphabet; a token's number is its place.
    merges : sequence of str
        Pairs separated by a space, the most frequent first.
    special : iterable of str
        Tokens that are found in the text as they stand, such as ``<|im_start|>``.
    """

    def __init__(
        self, tokens: Sequence[str], merges: Sequence[str], special: Iterable[str] = ()
    ) -> None:
        self._tokens = list(tokens)
        self._numbers: Mapping[str, int] = {token: i for i, token in enumerate(self._tokens)}
        self._ranks: dict[tuple[str, str], int] = {}
        for rank, merge in enumerate(merges):
            left, space, right = merge.partition(" ")
            if not (left and space and right):
                raise InputError(f"tokenizer: merge {rank} must be two tokens, got {merge!r}")
            self._ranks[left, right] = rank
        self._special = set(special)
        for token in self._special:
            if token not in self._numbers:
                raise InputError(f"tokenizer: special token {token!r} is not in the vocabulary")
        longest_first = sorted(self._special, key=len, reverse=True)
        self._special_pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._alphabet = byte_alphabet()
        self._bytes = {character: value for value, character in enumerate(self._alphabet)}
        self._known: dict[str, list[int]] = {}

    def _encode_word(self, word: str) -> list[int]:
        if word not in self._known:
            parts = [self._alphabet[value] for value in word.encode()]
            while len(parts) > 1:
                pairs = list(itertools.pairwise(parts))
                best = min(pairs, key=lambda pair: self._ranks.get(pair, len(self._ranks)))
                if best not in self._ranks:
                    break
                merged: list[str] = []
                for part in parts:
                    # A part that was just merged is longer than best[0] and cannot match again.
                    if merged and (merged[-1], part) == best:
                        merged[-1] += part
                    else:
                        merged.append(part)
                parts = merged
            missing = [part for part in parts if part not in self._numbers]
            if missing:
                raise InputError(f"tokenizer: {missing[0]!r} of {word!r} is not in the vocabulary")
            self._known[word] = [self._numbers[part] for part in parts]
        return self._known[word]

    def encode(self, text: str) -> list[int]:
        """Tokens of `text`; none are added at its ends."""
        numbers: list[int] = []
        start = 0
        for match in self._special_pattern.finditer(text):
            for word in _words(text[start : match.start()]):
                numbers += self._encode_word(word)
            numbers.append(self._numbers[match.group()])
            start = match.end()
        for word in _words(text[start:]):
            numbers += self._encode_word(word)
        return numbers

    def decode(self, numbers: Iterable[int]) -> str:
        """Text of tokens; bytes that are not UTF-8 become U+FFFD."""
        content = bytearray()
        for number in numbers:
            token = self._tokens[number]
            if token in self._special:
                content += token.encode()
            else:
                content += bytes(self._bytes[character] for character in token)
        return content.decode(errors="replace")
