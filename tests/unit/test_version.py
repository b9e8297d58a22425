"""The version of the code covers all code that determines a result."""

import re
import tomllib
from importlib.metadata import version as installed
from pathlib import Path

import pytest

from simalloc import version
from simalloc.policy import find_policy, modules_of

FAMILIES = {
    "heap/core/space/heap.h": "",
    "heap/core/replay/replay.c": "",
    "heap/core/families/family.h": "",
    "heap/core/families/all.h": "TWICE(list_fit)\nONCE(list)\nONCE(binned_fit)\nONCE(new)\n",
    "heap/core/families/list_fit.c": "",
    "heap/core/families/list_fit_search.c": "",
    "heap/core/families/list_rover.h": "",
    "heap/core/families/sizes.h": "",
    "heap/core/families/binned_fit.c": "",
    "heap/core/families/new/new.c": "",
    "heap/core/families/new/pages.c": "",
    "heap/core/parts/bins.c": "",
    "policy/families/base.py": "",
    "policy/families/__init__.py": "",
    "policy/catalogue/__init__.py": "",
    "policy/families/sequential_fit.py": "",
    "policy/families/binned_fit.py": "",
    "policy/catalogue/johnstone_wilson.py": "",
    "policy/catalogue/other.py": "",
}
MODULES = ("simalloc.policy.families.sequential_fit", "simalloc.policy.catalogue.johnstone_wilson")

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name in (
        *("heap/a.py", "heap/core/b.c", "policy/c.py", "measure/d.py", "c/g.h"),
        *("heap/reference/e.py", "report/f.py", "heap/core/notes.txt"),
        *FAMILIES,
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FAMILIES.get(name, name))
    monkeypatch.setattr(version, "_PACKAGE", tmp_path)
    monkeypatch.setattr(version, "code_version", version.code_version.__wrapped__)
    return tmp_path


def test_release_and_digest():
    assert re.fullmatch(r"\d+\.\d+\.\d+\+[0-9a-f]{12}", version.code_version())


@pytest.mark.parametrize(
    "name", ["heap/a.py", "heap/core/b.c", "policy/c.py", "measure/d.py", "c/g.h"]
)
def test_what_decides_changes_it(package, name):
    before = version.code_version()
    (package / name).write_text("changed")
    assert version.code_version() != before


@pytest.mark.parametrize("name", ["heap/reference/e.py", "report/f.py", "heap/core/notes.txt"])
def test_what_does_not_decide_leaves_it(package, name):
    before = version.code_version()
    (package / name).write_text("changed")
    assert version.code_version() == before


def version_of_list_fit():
    return version.code_version("list fit", MODULES)


@pytest.mark.parametrize(
    "name",
    [
        *("heap/a.py", "policy/c.py", "measure/d.py", "c/g.h", "heap/core/space/heap.h"),
        *("heap/core/replay/replay.c", "heap/core/families/family.h", "heap/core/parts/bins.c"),
        *("heap/core/families/list_fit.c", "heap/core/families/list_fit_search.c"),
        *("heap/core/families/sizes.h", "policy/families/base.py"),
        *("policy/families/sequential_fit.py", "policy/catalogue/johnstone_wilson.py"),
    ],
)
def test_what_a_family_depends_on_changes_its_version(package, name):
    before = version_of_list_fit()
    (package / name).write_text("changed")
    assert version_of_list_fit() != before


@pytest.mark.parametrize(
    "name",
    [
        *("heap/core/families/binned_fit.c", "heap/core/families/list_rover.h"),
        *(
            "heap/core/families/new.c",
            "heap/core/families/new/pages.c",
            "policy/families/binned_fit.py",
            "policy/families/new.py",
        ),
        *("policy/catalogue/other.py", "heap/reference/e.py"),
    ],
)
def test_another_family_leaves_a_version(package, name):
    before = version_of_list_fit()
    (package / name).write_text("changed")
    assert version_of_list_fit() == before


def test_a_new_family_leaves_the_versions_of_others(package):
    before = version_of_list_fit()
    with (package / "heap/core/families/all.h").open("a") as listed:
        listed.write("ONCE(newer)\n")
    assert version_of_list_fit() == before


def test_no_family_includes_files_of_another():
    folder = Path(version.__file__).parent / version._FAMILIES
    families = version._families()
    for path in folder.glob("*.[ch]"):
        own = version._owner(path.name, families)
        for included in re.findall(r'#include "families/(.+)"', path.read_text("utf-8")):
            assert version._owner(included, families) in {own, ""}, f"{path.name}: {included}"


def test_the_code_of_families_differs_here():
    rows = {name: find_policy(name) for name in ("first-fit-ao", "next-fit-ao", "lea-2.6.1")}
    first, following, lea = (
        version.code_version(row.description.core, modules_of(row)) for row in rows.values()
    )
    assert first == following != lea
    assert version.code_version() not in {first, lea}


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
