"""Files that are written completely or not at all."""

import os

import pytest

from simalloc.files import read_text, replacing


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


def test_a_pipe_is_written_as_it_is():
    read, write = os.pipe()
    with replacing(f"/dev/fd/{write}") as stream:
        stream.write(b"something")
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        assert stream.read() == b"something"


def test_a_text_without_end_is_refused(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("ä" * 1000, "utf-8")
    assert read_text(path) == "ä" * 1000
    os.truncate(path, 1 << 34)
    for endless in (path, "/dev/zero"):
        with pytest.raises(OSError, match="more than 16 MiB"):
            read_text(endless)


NOBODY = 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link to another user")
@pytest.mark.parametrize("links", [1, 2])
def test_another_user_s_link_in_a_shared_folder_is_not_followed(tmp_path, links):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    precious = tmp_path / "precious"
    precious.write_bytes(b"old")
    (shared / "last").symlink_to(precious)
    os.lchown(shared / "last", NOBODY, NOBODY)
    target = shared / "last"
    if links == 2:
        target = tmp_path / "first"
        target.symlink_to("shared/last")
    with pytest.raises(PermissionError, match="symbolic link of another user"), replacing(target):
        raise AssertionError
    assert precious.read_bytes() == b"old"
    assert sorted(path.name for path in shared.iterdir()) == ["last"]


def test_one_s_own_link_in_a_shared_folder_is_followed(tmp_path):
    tmp_path.chmod(0o1777)
    (tmp_path / "link").symlink_to("file")
    with replacing(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_a_link_to_itself_is_an_error(tmp_path):
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(OSError, match="link"), replacing(tmp_path / "link"):
        raise AssertionError
