"""Messages about the failure of a policy in Python."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

from simalloc.errors import PolicyError, SimallocError

Extent = tuple[int, int] | None
Step = tuple[str, Extent, int, Extent]
"""A call of one of the heap's methods: name, block, number, and result."""


def explained(
    error: Exception, event: int, method: str, size: int, steps: Sequence[Step]
) -> PolicyError:
    """Return the error of a failed policy: event, cause, source line and preceding steps.

    `method` of the policy was called for `size` scaled bytes. The core calls this function.
    """
    reason = str(error) if isinstance(error, SimallocError) else f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"event {event} ({method} of {size} scaled bytes): {reason}"]
    if frames:
        lines.append(f"at {frames[-1].filename}, line {frames[-1].lineno}: {frames[-1].line}")
    if steps:
        lines.append(f"having done {', '.join(map(_spell, steps))}")
    made = PolicyError("\n  ".join(lines))
    made.__cause__ = error
    return made


def _spell(step: Step) -> str:
    method, block, number, answer = step
    given = ", ".join([*([_extent(block)] if block else []), *([str(number)] if number else [])])
    return f"{method}({given}) = {_extent(answer)}"


def _extent(extent: Extent) -> str:
    return "None" if extent is None else f"[{extent[0]}, {sum(extent)})"
