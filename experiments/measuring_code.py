"""A digest of the Python code that measured a stored file, without comments.

The digest covers the experiments' modules. It excludes simalloc's own code, whose behaviour
`experiments.provenance` compares.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_PRINTING: Final = frozenset({"experiments.made", "experiments.output", "experiments.run"})
"""Modules that write and print measurements."""


@cache
def digest_of_code(module: str, root: Path = ROOT) -> str:
    """Return a digest of a module and of all modules of the experiments that it imports.

    Comments, docstrings, line breaks and the modules that only print do not change the digest. A
    new name changes it, although the result stays the same.

    Parameters
    ----------
    module : str
        Name of the module whose functions measure, such as `"experiments.growth.measuring"`.
    root : Path, default the clone
        Folder that contains `experiments`.

    """
    digest = hashlib.sha256()
    for name in sorted(_reached(module, root)):
        digest.update(f"{name} {_meaning(_parsed(name, root))!r}\n".encode())
    return digest.hexdigest()[:12]


def _reached(module: str, root: Path) -> set[str]:
    """Return the names of a module and of the modules that it imports, directly or indirectly."""
    reached: set[str] = set()
    ahead = [module]
    while ahead:
        name = ahead.pop()
        if name not in reached | _PRINTING and _path(name, root) is not None:
            reached.add(name)
            ahead += _imported(_parsed(name, root))
    return reached


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the names that may be modules of the experiments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def _path(name: str, root: Path) -> Path | None:
    """Return the file of a module of the experiments, or None for a package or another module."""
    path = root.joinpath(*name.split(".")).with_suffix(".py")
    return path if name.startswith("experiments.") and path.is_file() else None


@cache
def _parsed(name: str, root: Path) -> ast.Module:
    path = _path(name, root)
    assert path is not None
    return ast.parse(path.read_text("utf-8"))


def _meaning(node: object) -> object:
    """Return a syntax tree as tuples and lists, equal in all releases of Python.

    Empty fields are omitted because new releases add some. An expression statement with only a
    string is a docstring.
    """
    if isinstance(node, ast.AST):
        fields = [(name, _meaning(value)) for name, value in ast.iter_fields(node)]
        return type(node).__name__, [field for field in fields if field[1] not in (None, [])]
    if isinstance(node, list):
        return [_meaning(each) for each in node if not _is_text(each)]
    return node


def _is_text(node: object) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
