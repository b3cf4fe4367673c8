import pytest

from fanweave.golden.dops.tables import find_toml, shipped_names
from fanweave.golden.errors import InputError


@pytest.fixture
def shipped(tmp_path):
    for name in ("small.toml", "large.toml", "notes.txt"):
        (tmp_path / name).touch()
    return tmp_path


def test_names_are_those_of_toml_files(shipped):
    assert shipped_names(shipped) == ["large", "small"]


def test_a_name_is_a_shipped_file_or_the_users_own(shipped):
    assert find_toml("box", "small", shipped) == shipped / "small.toml"
    assert str(find_toml("box", "my/small.toml", shipped)) == "my/small.toml"


def test_another_name_is_refused_with_those_that_there_are(shipped):
    message = (
        r"^box 'Smal' is not known; did you mean 'small'\?; use a \.toml file or one of large, "
        "small$"
    )
    with pytest.raises(InputError, match=message):
        find_toml("box", "Smal", shipped)
