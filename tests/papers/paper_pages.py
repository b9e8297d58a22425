"""Common parts of the tests of every paper: its page, and a measurement without a bar."""

from contextlib import contextmanager
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


@contextmanager
def no_progress(_label, _total):
    """Stand in for the bar that a command shows."""
    yield lambda _: None
