"""The version of the code names what decides a result."""

import re
import tomllib
from importlib.metadata import version as installed
from pathlib import Path

import pytest

from simalloc import version

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name in ("heap/a.py", "heap/core/b.c", "policy/c.py", "measure/d.py", "heap/reference/e.py",
                 "report/f.py", "heap/core/notes.txt"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    monkeypatch.setattr(version, "_PACKAGE", tmp_path)
    monkeypatch.setattr(version, "code_version", version.code_version.__wrapped__)
    return tmp_path


def test_release_and_digest():
    assert re.fullmatch(r"\d+\.\d+\.\d+\+[0-9a-f]{12}", version.code_version())


@pytest.mark.parametrize("name", ["heap/a.py", "heap/core/b.c", "policy/c.py", "measure/d.py"])
def test_what_decides_changes_it(package, name):
    before = version.code_version()
    (package / name).write_text("changed")
    assert version.code_version() != before


@pytest.mark.parametrize("name", ["heap/reference/e.py", "report/f.py", "heap/core/notes.txt"])
def test_what_does_not_decide_leaves_it(package, name):
    before = version.code_version()
    (package / name).write_text("changed")
    assert version.code_version() == before


def test_every_file_that_names_the_release_names_the_same():
    release = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    said = {
        "meson.build": r"^  version: '(.+)',$",
        "CITATION.cff": r"^version: (.+)$",
        "CHANGELOG.md": r"^## (\S+)",
    }
    for name, pattern in said.items():
        found = re.search(pattern, (PROJECT / name).read_text("utf-8"), re.MULTILINE)
        assert found, name
        assert found[1] == release, name
    assert installed("simalloc") == release
