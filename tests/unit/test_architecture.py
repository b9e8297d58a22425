"""Imports run downward only, and the folders are what the architecture page says they are."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "simalloc"

LAYERS = ["errors files version", "trace policy", "heap", "measure", "report", "sweep", "cli"]
"""From the bottom up; what stands in one line knows nothing of each other."""

MAY_IMPORT = {
    part: {below for lower in LAYERS[:level] for below in lower.split()}
    for level, layer in enumerate(LAYERS)
    for part in layer.split()
}

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
