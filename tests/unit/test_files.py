"""Files that are there whole or not at all."""

import pytest

from simalloc.files import replacing


def test_a_file_takes_the_place_of_another_when_it_is_whole(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"before")
    with pytest.raises(TypeError), replacing(target) as stream:
        stream.write("neither bytes nor whole")
    assert target.read_bytes() == b"before"
    with replacing(target) as stream:
        stream.write(b"after")
    assert target.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_names_the_target(tmp_path):
    for target in (tmp_path / "missing" / "target", "/dev/full"):
        with pytest.raises(OSError, match=f"'{target}'"), replacing(target) as stream:
            stream.write(b"something")
