"""Byte-pair encoding on a vocabulary small enough to follow by hand."""

import pytest

from fanweave.golden.errors import InputError
from fanweave.golden.llama.tokenizer import Tokenizer, byte_alphabet

MERGES = ["t h", "th e", "Ġ the", "a a", "1 2", ". ."]
VOCABULARY = [*byte_alphabet(), "th", "the", "Ġthe", "aa", "12", "..", "<|end|>"]


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer(VOCABULARY, MERGES, ["<|end|>"])


def _strings(tokenizer: Tokenizer, text: str) -> list[str]:
    return [VOCABULARY[number] for number in tokenizer.encode(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the the", ["the", "Ġthe"]),
        ("thx", ["th", "x"]),
        ("aaa", ["aa", "a"]),  # the leftmost pair merges first, and no part twice
        ("a a", ["a", "Ġ", "a"]),  # never across words
        ("12", ["1", "2"]),  # digits stand alone whatever the merges say
        ("the  the", ["the", "Ġ", "Ġthe"]),  # a run of spaces leaves one to the word
        ("the's", ["the", "'", "s"]),
        ("the..", ["the", ".."]),
        ("a_a", ["a", "_", "a"]),
        ("a<|end|>a", ["a", "<|end|>", "a"]),
        ("é", ["Ã", "©"]),  # the two bytes of its UTF-8
        ("", []),
    ],
)
def test_text_becomes_these_tokens(tokenizer, text, expected):
    assert _strings(tokenizer, text) == expected


@pytest.mark.parametrize("text", ["the  ½ of\tit\n\n is 中文 👩‍🔬_x", "<|end|>\u00a0", "\x00\x7f"])
def test_decoding_returns_the_text(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_bytes_that_are_no_text_are_replaced(tokenizer):
    assert tokenizer.decode([0xE9, 0x61]) != ""
    assert tokenizer.decode([VOCABULARY.index("Ã")]) == "\ufffd"


def test_bad_vocabularies_are_refused():
    with pytest.raises(InputError, match="tokenizer: merge 1 must be two tokens, got 'th'"):
        Tokenizer(VOCABULARY, ["t h", "th"])
    with pytest.raises(InputError, match="special token '<x>' is not in the vocabulary"):
        Tokenizer(VOCABULARY, MERGES, ["<x>"])
    with pytest.raises(InputError, match="tokenizer: 'b' of 'ab' is not in the vocabulary"):
        Tokenizer(["a"], []).encode("ab")
