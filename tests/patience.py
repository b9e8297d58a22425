"""Waits of tests: for the event itself, with a limit for a slow and busy machine."""

import time
from contextlib import contextmanager

PATIENCE = 300
"""Seconds after which a test gives up a wait."""


def wait_until(comes):
    """Ask a question until its answer is true, and return that answer."""
    end = time.monotonic() + PATIENCE
    while not (answer := comes()):
        assert time.monotonic() < end, "what the test waits for does not come"
        time.sleep(0.02)
    return answer


@contextmanager
def ending(process):
    """Yield a process that was started, and kill it if it has not ended by itself."""
    with process:
        try:
            yield process
        finally:
            process.kill()
