"""Content of live blocks, by size and first word: a substitute for call stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.capture import Capture
from simalloc.process.glibc.chunks import LIVE
from simalloc.process.glibc.layouts import HEADER
from simalloc.process.mappings import Mapping
from simalloc.process.snapshot import Content
from simalloc.process.symbols import DataSymbols
from simalloc.process.target import Target, in_any

MAX_ROWS: Final = 20
_ZERO, _TEXT, _BLOCK, _OTHER = range(4)
_WORDS: Final = ("zero", "text", "pointer to a block", "number")
_MIN_LETTERS: Final = 4
_FIRST_LETTER, _LAST_LETTER = 0x20, 0x7E


def content_of(target: Target, found: Capture) -> list[Content]:
    """Return the kinds of live blocks with the most bytes, by size and first word."""
    size, word = _live(found)
    if not len(size):
        return []
    files = [one for one in found.mappings if one.inode and one.readable]
    heaps = [run for run in found.mappings if run.heap_like]
    key = _keys(word, files, heaps)
    key[_left_by_malloc(found, word)] = _OTHER
    pairs = np.stack([size, key], axis=1)
    kinds, first, count = np.unique(pairs, axis=0, return_index=True, return_counts=True)
    order = np.argsort(-(kinds[:, 0].astype(np.int64) * count), kind="stable")[:MAX_ROWS]
    keys = [int(kinds[at, 1]) for at in order]
    words = [int(word[first[at]]) for at in order]
    named = iter(DataSymbols(target, found.mappings).names([one for one in keys if one > _OTHER]))
    rows = []
    for at, one, example in zip(order.tolist(), keys, words, strict=True):
        what = next(named) if one > _OTHER else _WORDS[one]
        if one == _TEXT:
            what = f"text, such as {_letters(example)!r}"
        blocks = int(count[at])
        rows.append(Content(int(kinds[at, 0]), blocks, int(kinds[at, 0]) * blocks, what))
    return rows


def _live(found: Capture) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the usable size and the first word of each live block of the arenas."""
    sizes, words = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    for heap in found.heaps:
        for arena in heap.arenas:
            if arena.walk is None:
                continue
            live = arena.walk.kind == LIVE
            address = arena.walk.address[live] + np.uint64(HEADER)
            word = np.empty(len(address), np.uint64)
            arena.walk.memory.words(address, word)
            sizes.append(arena.walk.size[live] - np.uint64(8))
            words.append(word)
    return np.concatenate(sizes), np.concatenate(words)


def _left_by_malloc(found: Capture, word: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return a mask of the words that point into an arena: links left from a free block."""
    left = np.zeros(len(word), np.bool_)
    for heap in found.heaps:
        for state in (arena.state for arena in heap.arenas):
            left |= (word >= state.address) & (word < state.address + state.layout.size)
    return left


def _keys(
    word: NDArray[np.uint64], files: Sequence[Mapping], heaps: Sequence[Mapping]
) -> NDArray[np.uint64]:
    """Return the words that point into a file, and the kinds of all other words."""
    key = np.full(len(word), _OTHER, np.uint64)
    key[_are_text(word)] = _TEXT
    aligned = word % np.uint64(8) == 0
    key[aligned & in_any(heaps, word)] = _BLOCK
    in_file = in_any(files, word)
    key[in_file] = word[in_file]
    key[word == 0] = _ZERO
    return key


def _are_text(word: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return a mask of the words that begin with letters, followed only by zeros."""
    letters = word.view(np.uint8).reshape(-1, 8)
    printed = (letters >= _FIRST_LETTER) & (letters <= _LAST_LETTER)
    length = np.where(printed.all(axis=1), 8, np.argmin(printed, axis=1))
    ended = np.take_along_axis(letters, np.minimum(length, 7)[:, None], axis=1)[:, 0] == 0
    found: NDArray[np.bool_] = (length >= _MIN_LETTERS) & (ended | (length == 8))
    return found


def _letters(word: int) -> str:
    return word.to_bytes(8, "little").partition(b"\0")[0].decode("ascii", "replace")
