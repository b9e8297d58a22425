"""Names of signals for messages."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """Return the name of a signal, or `signal N`, because most real-time signals are unnamed."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
