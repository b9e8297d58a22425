"""Imports run downward only, and the folders agree with the architecture page."""

import ast
import re
from pathlib import Path

import pytest

from simalloc.shown import LOOKS

PACKAGE = Path(__file__).parents[2] / "simalloc"

LAYERS = [
    "printable",
    "errors examples extras files machine plural progress shown signals version waiting",
    "arguments arrays sizes",
    "memory",
    "trace policy",
    "bound process",
    "heap",
    "adversary measure",
    "advice pool",
    "report",
    "sweep",
    "api cli",
]
"""Layers from the bottom up; modules in one line do not import each other."""

MAY_IMPORT = {
    part: {below for lower in LAYERS[:level] for below in lower.split()}
    for level, layer in enumerate(LAYERS)
    for part in layer.split()
}


def imported(path):
    """Return every module that a file imports, anywhere in the file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_run_downward(part):
    for path in (PACKAGE / part).rglob("*.py"):
        for name in imported(path):
            top, _, rest = name.partition(".")
            assert top not in {"experiments", "benchmarks", "tests"}
            if top == "simalloc":
                assert rest.partition(".")[0] in MAY_IMPORT[part] | {part}, f"{path}: {name}"


def test_every_part_is_known():
    parts = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert parts | modules <= set(MAY_IMPORT)


FOLDERS = {
    "policy": {
        "parts": set(),
        "families": {"parts"},
        "device": {"parts", "families"},
        "pool": {"parts", "families"},
        "user": {"parts", "families"},
        "catalogue": {"parts", "families", "user", "device", "pool"},
    },
    "heap": {
        "real": {"running"},
        "running": {"reference"},
        "reference": {"running"},
        "watch": {"running", "reference"},
    },
    "heap/reference": {
        "space": set(),
        "parts": {"space", "layers"},
        "layers": {"space", "parts"},
        "families": {"space", "parts", "layers", "user_policies"},
        "user_policies": {"space", "parts"},
    },
}
"""Imports allowed between the folders of a part; modules outside the folders are unrestricted."""


@pytest.mark.parametrize("part", FOLDERS)
def test_folders_import_as_the_architecture_says(part):
    prefix = f"simalloc.{part.replace('/', '.')}."
    for folder, may in FOLDERS[part].items():
        for path in (PACKAGE / part / folder).rglob("*.py"):
            found = {name.removeprefix(prefix).partition(".")[0]
                     for name in imported(path) if name.startswith(prefix)}  # fmt: skip
            assert found & set(FOLDERS[part]) <= may | {folder}, path


@pytest.mark.parametrize("part", FOLDERS)
def test_every_folder_is_known(part):
    folders = {path.parent.name for path in (PACKAGE / part).glob("*/__init__.py")}
    assert folders == set(FOLDERS[part])


CORE = {
    "space": set(),
    "index": {"space"},
    "parts": {"space", "index", "layers", "replay"},
    "layers": {"space", "index", "parts/overhead.h", "replay/replay.h", "families/family.h"},
    "replay": {"space", "index", "layers", "parts/overhead.h", "families/family.h"},
    "families": {"space", "index", "parts", "layers", "replay"},
    "user_policies": {"space", "index", "parts", "layers", "replay", "families"},
    "binding": {"space", "index", "parts", "layers", "replay", "families", "user_policies"},
}
"""Includes allowed between the folders of the C core, or of single files."""


@pytest.mark.parametrize("folder", CORE)
def test_folders_of_the_core_include_as_the_architecture_says(folder):
    paths = list((PACKAGE / "heap/core" / folder).rglob("*.[ch]"))
    assert paths
    for path in paths:
        for name in re.findall(r'#include "(.+)"', path.read_text("utf-8")):
            top = name.partition("/")[0]
            assert top not in CORE or {top, name} & {folder, *CORE[folder]}, f"{path}: {name}"


MAY_IMPORT_BY_NAME = {"__init__.py", "shown.py", "progress/__init__.py", "cli/group.py",
                      "api/pictures.py", "policy/modules.py",
                      "heap/reference/families/__init__.py"}  # fmt: skip
"""Modules that import others by computed names at run time."""


def test_only_shown_looks_upward_and_only_at_looks():
    dynamic = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if {"import_module", "__import__"} & set(path.read_text("utf-8").replace("(", " ").split())
    }
    assert dynamic == MAY_IMPORT_BY_NAME
    assert LOOKS == "simalloc.report.looks"
    assert set(imported(PACKAGE / "shown.py")) <= {"__future__", "importlib", "typing"}


PAGE = re.compile(
    r"\b((?:docs|policy/(?:families|device|pool))/[\w-]+\.md)"
    r"(?:, ([A-Z][\w ]+)(?:: ([A-Z][\w ]+))?\))?"
)
"""A page that the code names, perhaps with a section: `(docs/policies.md, Parts: Growth)`."""


def test_pages_that_the_code_names_are_there_with_their_sections():
    found = 0
    for path in [each for suffix in ("py", "[ch]") for each in PACKAGE.rglob(f"*.{suffix}")]:
        text = re.sub(r"\n[ *#]*", " ", path.read_text("utf-8"))  # a reference may be on two lines
        for name, *sections in PAGE.findall(text):
            page = (PACKAGE.parent if name.startswith("docs") else PACKAGE) / name
            assert page.exists(), f"{path}: {name}"
            words = page.read_text("utf-8")
            for section in filter(None, sections):
                found += 1
                assert re.search(rf"^## {section}|\*\*{section}\b", words, re.MULTILINE), (
                    f"{path}: {section}"
                )
    assert found > 5


def test_a_family_in_c_names_its_own_page():
    for path in (PACKAGE / "heap/core/families").rglob("*.c"):
        first = path.read_text("utf-8")[:300]
        assert "docs/policies.md" not in first, path
