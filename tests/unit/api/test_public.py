"""The names in `import simalloc`, for every order in which its modules are imported."""

import ast
import inspect
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import simalloc

SOURCE = Path(simalloc.__file__).read_text("utf-8")
UNLOADED = {"IPython", "click", "dask", "matplotlib", "numpy", "pandas", "rich", "sqlite3"}


def run_python(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_type_checkers_are_told_the_same_as_the_table_says():
    said = {
        alias.asname: node.module.removeprefix("simalloc.")
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("simalloc.")
        for alias in node.names
    }
    assert said == simalloc._HOME


def test_every_name_is_there_and_explained_on_the_page():
    page = (Path(__file__).parents[3] / "docs" / "api.md").read_text("utf-8")
    named = re.findall(r"^\.\. auto(?:function|class):: (\w+)$", page, re.MULTILINE)
    assert sorted(named) == sorted(simalloc.__all__)
    for name in simalloc.__all__:
        assert name in dir(simalloc)
        thing = getattr(simalloc, name)
        assert len(inspect.getdoc(thing)) > 20
        if callable(thing) and not inspect.isclass(thing):
            assert inspect.signature(thing).return_annotation is not inspect.Signature.empty


def test_help_and_errors_need_no_extras():
    printed = run_python(
        "import sys\n"
        "sys.modules |= dict.fromkeys(['matplotlib', 'pandas', 'anywidget', 'dask', 'IPython'])\n"
        "import pydoc, simalloc\n"
        "print(pydoc.render_doc(simalloc))\n"
        "try: simalloc.draw_lives('hyper')\n"
        "except simalloc.SimallocError as error: print(error)"
    )
    assert "draw_heap_maps" in printed
    assert printed.splitlines()[-1] == "pictures need matplotlib: pip install 'simalloc[plot]'"


def test_the_version_is_the_release():
    assert simalloc.__version__ == version("simalloc")


def test_nothing_else_is_there():
    with pytest.raises(AttributeError, match="'simalloc' has no attribute 'nonsense'"):
        _ = simalloc.nonsense


def test_importing_it_loads_nothing_heavy():
    loaded = run_python("import sys, simalloc; dir(simalloc); print(*sys.modules)").split()
    assert not UNLOADED & set(loaded)
    assert [name for name in loaded if name.startswith("simalloc.")] == []
