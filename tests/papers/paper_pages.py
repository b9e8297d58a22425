"""Common parts of all papers' tests: the paper's page, and a measurement without a progress bar."""

from contextlib import contextmanager
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


@contextmanager
def no_progress(_label, _total):
    """Replace a command's progress bar."""
    yield lambda _: None
