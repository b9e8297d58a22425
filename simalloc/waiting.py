"""How the main thread waits, so that Ctrl-C ends every wait."""

from __future__ import annotations

from typing import Final

LOOK_SECONDS: Final = 0.1
"""The longest that the main thread waits before it looks again at what it waits for.

Ctrl-C ends a wait under way. But one that comes just before a wait, or that another thread is told
of, is noticed only after the wait: for hours, if what is waited for takes hours.
"""
