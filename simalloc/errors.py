"""Errors that users of simalloc can catch."""

from __future__ import annotations

from os import PathLike


class SimallocError(Exception):
    """An error in the input. The message states the fault, its location and a remedy."""


class PolicyError(SimallocError):
    """An unknown policy, or an unknown parameter or invalid value of a policy."""


class TraceError(SimallocError):
    """An invalid trace or allocation log.

    `path`, `line` (1-based) and `event` (0-based) locate the fault, or are None if unknown. `hint`
    is a remedy for a failed import of a log.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        event: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.reason = reason
        self.hint = hint
        self.path = path
        self.line = line
        self.event = event
        super().__init__(reason)

    def __str__(self) -> str:
        reason = f"{self.reason}; {self.hint}" if self.hint else self.reason
        return _located(reason, self.path, self.line, self.event)

    def at(
        self, path: str | PathLike[str], *, line: int | None = None, event: int | None = None
    ) -> TraceError:
        """Return the same error with a location."""
        return TraceError(
            self.reason,
            path=path,
            line=self.line if line is None else line,
            event=self.event if event is None else event,
            hint=self.hint,
        )


class PlanError(SimallocError):
    """An invalid plan of a sweep.

    `key` is the path of the invalid key in the plan, and `value` is the invalid value if the key
    has several. `path` and `line` (1-based) locate the key in a file.
    """

    def __init__(
        self,
        reason: str,
        *,
        key: tuple[str, ...] = (),
        value: object = None,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
    ) -> None:
        self.reason = reason
        self.key = key
        self.value = value
        self.path = path
        self.line = line
        super().__init__(reason)

    def __str__(self) -> str:
        return _located(self.reason, self.path, self.line)


class ResultsError(SimallocError):
    """A result file that cannot be read or written, or that lacks a requested part."""


def _located(
    reason: str, path: str | PathLike[str] | None, line: int | None, event: int | None = None
) -> str:
    """Return a message after its location, as far as the location is known."""
    where = [] if path is None else [str(path)]
    where += [f"line {line}"] if line is not None else []
    where += [f"event {event}"] if event is not None else []
    return f"{', '.join(where)}: {reason}" if where else reason
