"""In a clone, Python finds the source folder before the installed package."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[3]
SOURCES_ALONE = """
import sys
sys.meta_path = [each for each in sys.meta_path if "Meson" not in type(each).__name__]
sys.path.insert(0, sys.argv[1])
import simalloc
simalloc.read_trace("gcc")
"""


def test_an_import_without_the_compiled_core_says_what_to_do():
    command = [sys.executable, "-c", SOURCES_ALONE, str(PROJECT)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {PROJECT / 'simalloc'} is the source folder of simalloc")
    assert "pip install --editable ." in last
