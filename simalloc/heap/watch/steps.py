"""A small trace step by step: every block and the free list after each event.

The reference engine replays the events, because it walks its free lists as the papers describe
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final, Unpack

from simalloc.errors import SimallocError
from simalloc.files import replacing
from simalloc.heap.run_options import RunKeywords
from simalloc.heap.running.setting import Setting
from simalloc.plural import counted
from simalloc.policy import AnyPolicy, spell
from simalloc.printable import printable
from simalloc.shown import ShownAsSteps
from simalloc.trace import EventSource, Op

MAX_STEPS: Final = 2000
"""Maximum number of steps kept at once; longer runs are not readable as steps."""

_VERBS: Final = {
    Op.MALLOC: "malloc",
    Op.CALLOC: "calloc",
    Op.REALLOC: "realloc",
    Op.FREE: "free",
    Op.USE: "use",
    Op.EMPTY: "release cached memory",
    Op.THREAD_END: "thread exit",
}


@dataclass(frozen=True)
class Block:
    """A block of the heap, in program bytes.

    `state` is `allocated`, `free`, `cached`, `table`, `waste` or `hole`. `object` is the number of
    the live object in the block, or None.
    """

    address: float
    size: float
    state: str
    object: int | None


@dataclass(frozen=True)
class Step:
    """The heap after an event.

    Attributes
    ----------
    event : int
        Number of the event, from 1.
    text : str
        The event in words: `malloc 3: 24 bytes`.
    blocks : tuple of Block
        Every block, by address.
    free_list : tuple of float
        Addresses of the free blocks in the order of the policy's list.
    searched : int or None
        Free blocks that the search visited; None if the event did not search.
    changes : tuple of str
        What the policy did: `grew`, `split`, `coalesced`.

    """

    event: int
    text: str
    blocks: tuple[Block, ...]
    free_list: tuple[float, ...]
    searched: int | None
    changes: tuple[str, ...]

    @property
    def end(self) -> float:
        """End of the highest block, in program bytes."""
        return max((block.address + block.size for block in self.blocks), default=0)


@dataclass(frozen=True)
class Steps(ShownAsSteps):
    """The steps of a trace under a policy, in order."""

    trace: str
    policy: str
    steps: tuple[Step, ...]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the steps to a file: `.html` (with a slider), `.svg` (animated) or `.txt`.

        Raises `SimallocError` for another ending, and `OSError` if the file cannot be written.
        """
        content = self.written(Path(path).suffix)
        with replacing(path) as file:
            file.write(content.encode())

    def __repr__(self) -> str:
        events = counted(len(self.steps), "event")
        return printable(f"<Steps: {events} of {self.trace} under {self.policy}>")


def take_steps(
    source: EventSource,
    policy: AnyPolicy,
    *,
    first: int = 1,
    last: int | None = None,
    **given: Unpack[RunKeywords],
) -> Steps:
    """Return the heap after each of the events `first` to `last`, counted from 1.

    Raises `SimallocError` if these events do not exist, if they are more than `MAX_STEPS`, or if
    the policy has no reference engine.
    """
    setting = Setting.of(source, policy, **given)
    last = len(source) if last is None else last
    if not 1 <= first <= last <= len(source):
        raise SimallocError(
            f"events {first} to {last} do not exist; choose from 1 to {len(source)}"
        )
    if last - first >= MAX_STEPS:
        raise SimallocError(
            f"{last - first + 1:,} steps are too many to show; choose up to {MAX_STEPS:,} events, "
            f"such as events {first} to {first + 99}"
        )
    if setting.policy.description.runner == "offline":
        raise SimallocError(f"{setting.policy.name} does not place objects event by event")
    steps = tuple(step for step in _carried_out(setting, first, last) if step.event >= first)
    return Steps(source.name, spell(setting.policy), steps)


def _carried_out(setting: Setting, first: int, last: int) -> Iterator[Step]:
    from simalloc.heap.reference.replay import in_steps  # noqa: PLC0415 - rarely needed

    trace, scale = setting.source.in_memory(), setting.scale
    counted = (0, 0, 0)
    for event, (heap, where, searched) in enumerate(in_steps(setting), 1):
        now = (heap.growths, heap.splits, heap.coalescings)
        if event >= first:
            objects = {address: number for number, (address, _) in where.items()}
            yield Step(
                event,
                _words(trace.op[event - 1], trace.object[event - 1], trace.size[event - 1]),
                tuple(
                    Block(
                        address / scale,
                        size / scale,
                        heap.blocks.state[address].value,
                        objects.get(address),
                    )
                    for address, size in sorted(heap.blocks.size.items())
                ),
                tuple(address / scale for address in heap.listed()),
                searched,
                tuple(_changes(counted, now)),
            )
        counted = now
        if event == last:
            return


def _words(op: int, number: int, size: int) -> str:
    verb = _VERBS[Op(op)]
    if op in {Op.EMPTY, Op.THREAD_END}:
        return verb
    return f"{verb} {number}" + (f": {size} bytes" if op not in {Op.FREE, Op.USE} else "")


def _changes(before: tuple[int, int, int], now: tuple[int, int, int]) -> Iterator[str]:
    for was, done, word in zip(before, now, ("grew", "split", "coalesced"), strict=True):
        if done > was:
            yield word if done == was + 1 else f"{word} {done - was} times"
