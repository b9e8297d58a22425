"""The errors that users of simalloc are meant to catch."""

from __future__ import annotations

from os import PathLike


class SimallocError(Exception):
    """The input is wrong, not simalloc; the message says what, where and what to do."""


class PolicyError(SimallocError):
    """A policy's name or one of its parameters is unknown or out of range."""


class TraceError(SimallocError):
    """A trace or an allocation log is not what it should be.

    `path`, `line` (1-based) and `event` (0-based) say where, as far as that is known. `hint` says
    what can be done about it when a log is imported.
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
        """Return the same complaint with the place added."""
        return TraceError(
            self.reason,
            path=path,
            line=self.line if line is None else line,
            event=self.event if event is None else event,
            hint=self.hint,
        )


class PlanError(SimallocError):
    """A plan of a sweep is wrong.

    `key` is the path of the wrong key in the plan and `value` what is wrong about it, if it is one
    value of several; `path` and `line` (1-based) say where that stands in a file.
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
    """A file of results cannot be read or written, or what was asked of it is not there."""


def _located(
    reason: str, path: str | PathLike[str] | None, line: int | None, event: int | None = None
) -> str:
    """Return a complaint behind its place, as far as that is known."""
    where = [] if path is None else [str(path)]
    where += [f"line {line}"] if line is not None else []
    where += [f"event {event}"] if event is not None else []
    return f"{', '.join(where)}: {reason}" if where else reason
