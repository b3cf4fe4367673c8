import pytest

from fanweave.golden.entries import find_entry, load_entry
from fanweave.golden.errors import InputError

TABLE = {"join": "os.path:join", "gone": "os.path:nothing"}


def test_an_entry_is_imported_when_it_is_asked_for():
    assert find_entry("function", "join", TABLE)("a", "b") == "a/b"
    assert load_entry("fanweave.golden.errors:InputError") is InputError
    with pytest.raises(AttributeError):
        find_entry("function", "gone", TABLE)


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(InputError, match=r"function 'split' is not known; choose one of join, gon"):
        find_entry("function", "split", TABLE)
