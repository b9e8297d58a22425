"""The names of signals in messages."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """Return the name of a signal, or `signal N`: most real-time signals have only a number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
