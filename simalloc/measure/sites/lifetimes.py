"""Lifetimes of objects, learned by call site from one run of a program and used on another."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simalloc.measure.sites.frames import call_path, folded
from simalloc.measure.sites.usage import sites_of
from simalloc.trace import Trace
from simalloc.trace.statistics import lives_of

Key = Literal["size", "site", "stack"]
"""Key of similar objects, which always contains the requested size.

"site" adds the innermost line outside allocation wrappers, and "stack" adds the whole call path.
"""


def predicted_young(
    training: Trace, trace: Trace, by: Key, age: int, share: float = 1.0
) -> NDArray[np.bool_]:
    """Return for each event of a trace whether its object is predicted to die young.

    Parameters
    ----------
    training, trace : Trace
        The trace to learn from, and the trace to predict. Sites are equal if their names are equal.
    by : {"size", "site", "stack"}
        Key by which objects are considered similar.
    age : int
        An object dies young if fewer than `age` bytes are allocated during its life.
    share : float, default 1.0
        Minimum share of a kind's objects in `training` that died young. A kind that `training` does
        not contain is not predicted to die young.

    Returns
    -------
    ndarray of bool, with one value for each event

    Raises
    ------
    SimallocError
        If `by` is not "size" and one of the traces has no sites.
    """
    kinds: dict[Hashable, int] = {}
    of_training, of_trace = (_kinds(one, by, kinds) for one in (training, trace))
    lives = lives_of(training)
    young = (lives.lifetime < age) & lives.freed
    kind = of_training[lives.born]
    count = np.bincount(kind, minlength=len(kinds))
    died = np.bincount(kind, weights=young, minlength=len(kinds))
    learned = (count > 0) & (died >= share * np.maximum(count, 1))
    found: NDArray[np.bool_] = learned[of_trace]
    return found


def _kinds(trace: Trace, by: Key, kinds: dict[Hashable, int]) -> NDArray[np.int64]:
    """Return the kind of each event's request; kinds are numbered in order of appearance."""
    size = trace.size.astype(np.int64)
    site = np.zeros(len(trace), np.int64) if by == "size" else sites_of(trace).astype(np.int64)
    pairs, place = np.unique(np.stack((site, size)), axis=1, return_inverse=True)
    codes: dict[int, Hashable] = {
        each: None if by == "size" else _code(trace, each, by) for each in np.unique(site).tolist()
    }
    number = [
        kinds.setdefault((codes[where], asked), len(kinds)) for where, asked in pairs.T.tolist()
    ]
    return np.array(number, np.int64)[place.ravel()]


def _code(trace: Trace, site: int, by: Key) -> Hashable:
    path = call_path(trace.provenance, site)
    return folded(path)[0] if by == "site" else tuple(path)
