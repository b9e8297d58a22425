"""The commands that the Makefile and the pages name; most of them are only parsed."""

import importlib
import re
import shlex
from contextlib import suppress
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "Makefile", *ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
NAMED = re.compile(r"python -m ((?:experiments|benchmarks)[.\w]+)((?: --[\w-]+(?: [\w/$@]+)?)*)")
COMMANDS = sorted({found for page in PAGES for found in NAMED.findall(page.read_text("utf-8"))})


@pytest.mark.parametrize(("module", "options"), COMMANDS)
def test_there_is_the_command_with_its_options(module, options):
    found = importlib.import_module(module)
    if hasattr(found, "__path__"):
        found = importlib.import_module(f"{module}.__main__")
    (command,) = (one for one in vars(found).values() if isinstance(one, click.Command))
    with suppress(click.MissingParameter):  # a page may omit the arguments
        command.make_context(module, shlex.split(options.replace("FOLDER", str(ROOT))))
