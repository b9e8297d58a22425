"""Imports run downward only, and the folders are what the architecture page says they are."""

import ast
from pathlib import Path

import pytest

from simalloc.shown import LOOKS

PACKAGE = Path(__file__).parents[2] / "simalloc"

LAYERS = [
    "errors files machine plural progress shown version waiting",
    "trace policy",
    "bound",
    "heap",
    "adversary measure",
    "report",
    "sweep",
    "api cli",
]
"""From the bottom up; what stands in one line knows nothing of each other."""

MAY_IMPORT = {
    part: {below for lower in LAYERS[:level] for below in lower.split()}
    for level, layer in enumerate(LAYERS)
    for part in layer.split()
}


def imported(path):
    """Name every module that a file imports, wherever in the file that is."""
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


ROOMS = {
    "policy": {
        "parts": set(),
        "families": {"parts"},
        "device": {"parts", "families"},
        "python": {"parts", "families"},
        "catalogue": {"parts", "families", "python", "device"},
    },
    "heap/reference": {
        "space": set(),
        "parts": {"space"},
        "families": {"space", "parts", "python"},
        "python": {"space", "parts"},
    },
}
"""What the folders of a part may import of each other; the modules beside them are free."""

FURNISHED = [(part, room) for part, rooms in ROOMS.items() for room in rooms]


@pytest.mark.parametrize(("part", "room"), FURNISHED)
def test_rooms_import_as_the_architecture_says(part, room):
    prefix = f"simalloc.{part.replace('/', '.')}."
    for path in (PACKAGE / part / room).rglob("*.py"):
        rooms = {name.removeprefix(prefix).partition(".")[0]
                 for name in imported(path) if name.startswith(prefix)}  # fmt: skip
        assert rooms & set(ROOMS[part]) <= ROOMS[part][room] | {room}, path


@pytest.mark.parametrize("part", ROOMS)
def test_every_room_is_known(part):
    folders = {path.parent.name for path in (PACKAGE / part).glob("*/__init__.py")}
    assert folders == set(ROOMS[part])


MAY_IMPORT_BY_NAME = {"__init__.py", "shown.py", "progress/__init__.py", "cli/group.py",
                      "api/pictures.py", "policy/modules.py",
                      "heap/reference/families/__init__.py"}  # fmt: skip
"""Who imports modules by names that are made up as the program runs."""


def test_only_shown_looks_upward_and_only_at_looks():
    dynamic = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if {"import_module", "__import__"} & set(path.read_text("utf-8").replace("(", " ").split())
    }
    assert dynamic == MAY_IMPORT_BY_NAME
    assert LOOKS == "simalloc.report.looks"
    assert set(imported(PACKAGE / "shown.py")) <= {"__future__", "importlib", "typing"}
