"""A stored file's digest covers the Python code that measured it, and no other code."""

import pytest

from experiments.measuring_code import digest_of_code

MEASURING = '''"""Measures."""
import json
from experiments.one import counting
from experiments.output import write

LIMIT = 3
"""Runs."""


def measure(trace):
    """Measure a trace."""
    return counting.count(trace, LIMIT)  # at most three
'''
FILES = {
    "__init__.py": "",
    "one/__init__.py": "",
    "one/measuring.py": MEASURING,
    "one/counting.py": "from experiments import shared\n\ncount = shared.count\n",
    "one/page.py": "TEXT = 'words'\n",
    "output.py": "def write(text): print(text)\n",
    "shared.py": "def count(trace, limit): return len(trace) + limit\n",
    "two.py": "count = 1\n",
}


@pytest.fixture
def digest_with(tmp_path):
    """Return a function that returns the digest after one replacement in one file."""

    def digest(name="shared.py", before="", after=""):
        root = tmp_path / f"{name}{before}{after}".replace("/", "-").replace("\n", "-")
        for path, text in FILES.items():
            file = root / "experiments" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace(before, after) if path == name and before else text)
        return digest_of_code("experiments.one.measuring", root)

    return digest


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("one/measuring.py", "LIMIT = 3", "LIMIT = 4"),
        ("one/measuring.py", "trace, LIMIT", "trace, 2"),
        ("one/counting.py", "shared.count", "shared.count or None"),
        ("shared.py", "+ limit", "- limit"),
    ],
)
def test_a_changed_measurement_has_another_digest(name, before, after, digest_with):
    assert digest_with(name, before, after) != digest_with()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("one/measuring.py", "at most three", "up to three"),
        ("one/measuring.py", "Measure a trace", "Return a figure"),
        ("one/measuring.py", "Runs.", "Repetitions."),
        ("one/measuring.py", "(trace, LIMIT)", "(\n        trace,\n        LIMIT,\n    )"),
        ("one/page.py", "words", "others"),
        ("output.py", "print(text)", "print(text.upper())"),
        ("two.py", "1", "2"),
    ],
)
def test_comments_and_other_modules_do_not_matter(name, before, after, digest_with):
    assert digest_with(name, before, after) == digest_with()


def test_constants_that_are_no_docstrings_matter(digest_with):
    assert digest_with("one/measuring.py", "LIMIT = 3", "LIMIT = 'Runs.'") != digest_with()
