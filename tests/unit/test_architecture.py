"""Imports run downward only, and the folders are what the architecture page says they are."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "simalloc"

MAY_IMPORT = {
    "errors": set(),
    "files": {"errors"},
    "trace": {"errors", "files"},
    "policy": {"errors"},
    "heap": {"errors", "files", "policy", "trace"},
    "measure": {"errors", "files", "heap", "policy", "trace"},
    "sweep": {"errors", "files", "heap", "measure", "policy", "trace"},
    "report": {"errors", "files", "heap", "measure", "policy", "sweep", "trace"},
    "cli": {"errors", "files", "heap", "measure", "policy", "report", "sweep", "trace"},
}
"""What each part may import besides itself. The package's own __init__ and __main__ import all."""

MODULES = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE]


def imported(path):
    """Name every module that a file imports, wherever in the file that is."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downward(path):
    part = path.relative_to(PACKAGE).parts[0]
    allowed = MAY_IMPORT[part] | {part}
    for name in imported(path):
        top, _, rest = name.partition(".")
        assert top not in {"experiments", "benchmarks", "tests"}
        if top == "simalloc":
            assert rest.partition(".")[0] in allowed, f"{part} may not import {name}"


def test_every_part_is_known():
    parts = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert parts | modules <= set(MAY_IMPORT)
