"""Division of a sweep into shares for machines that do not communicate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from simalloc.errors import SimallocError
from simalloc.sweep.board import grouped

if TYPE_CHECKING:
    from simalloc.sweep.task import Task


@dataclass(frozen=True)
class Shard:
    """Share `index` (from 1) of `count`."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `I/N`. Raises `SimallocError` unless 1 <= I <= N."""
        match = re.fullmatch(r"(\d{1,100})/(\d{1,100})", text.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise SimallocError(f"shard is {text!r}; use I/N with I from 1 to N, as in 3/16")
        return cls(int(match[1]), int(match[2]))

    def of(self, tasks: Sequence[Task]) -> list[Task]:
        """Return this share of the tasks.

        The share depends only on the tasks, so all shares together contain each task exactly once.
        A share is a range of the tasks in order of their traces, so few traces are needed by more
        than one share. All ranges have about the same number of events. Within a trace, the order
        is by hash, so that slow policies are spread over all shares.
        """
        in_order = [
            task
            for group in grouped(sorted(tasks, key=lambda task: task.source.sha256))
            for task in sorted(group.waiting, key=_hash)
        ]
        weights = [task.source.events + 1 for task in in_order]
        total, before, share = sum(weights), 0, []
        for task, weight in zip(in_order, weights, strict=True):
            middle = 2 * before + weight
            if middle * self.count // (2 * total) == self.index - 1:
                share.append(task)
            before += weight
        return share


def _hash(task: Task) -> bytes:
    return sha256("\n".join(map(str, task.key)).encode()).digest()
