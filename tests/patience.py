"""Waits of tests for an event, with a time limit for a slow and busy machine."""

import time
from contextlib import contextmanager

PATIENCE = 300
"""Seconds after which a test stops waiting."""


def wait_until(comes):
    """Call a function until its result is true, and return that result."""
    end = time.monotonic() + PATIENCE
    while not (answer := comes()):
        assert time.monotonic() < end, "what the test waits for does not come"
        time.sleep(0.02)
    return answer


@contextmanager
def ending(process):
    """Yield a started process, and kill it if it has not exited by itself."""
    with process:
        try:
            yield process
        finally:
            process.kill()
