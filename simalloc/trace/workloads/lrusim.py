"""LRUsim, reconstructed: Van Wieren's locality analyser in Johnstone and Wilson 1998.

The program is not available. The paper states: a large AVL tree grows monotonically, one node at
the first reference to each block of memory; objects are freed only at the end of a run; the output
is a PostScript plot. The rest is inferred from its printed figures (bytes before scaling):

- A node has 36 bytes, for 64 / 36 - 1 = 77.8 % (binary buddy, 77.7 in table 4), 48 / 36 - 1 =
  33.3 % (double buddy, 33.7), and five nodes in 256 bytes cost 42.2 % (simple segregated storage
  with 3*2^N, 43.2).
- All 39,010 objects of table 2's class 64 are nodes, except one of 44 bytes that follows them: the
  average lifetime wants 46 bytes there, or 44 and the two buffers not quite first.
- The peak of live bytes lies between 1,413,470 and 1,413,596: best fit's heap is then 346 times
  4096 bytes (0.26 %), and 1380 K. Beside class 64, 29 objects are live then (table 1 has 39,039),
  with about 9,200 bytes.
- Of the single objects of classes 1K, 4K, 8K and 16K the second and third are among these 29, and
  so are the nine of class 256: binary buddy has 14.5 to 15.9 KB beside the nodes (77.7 %).
- Measure #3 of simple segregated storage is 13328 % and, with 3*2^N, 10595 %: the heap grows last
  when 18,843 +- 6 and 18,926 +- 7 bytes are live. So the tree is freed, and new objects follow.
- 64 objects with 17,400 bytes are allocated after the peak (table 1), which is 7.4 KB more than
  the live bytes then. So classes 4K and 8K, one object at any time, are freed and allocated again.
- The single objects have more than 8192, 4096, 2048 and 512 bytes without the 8 that table 2 adds,
  and not more than 12288 (16K) and 6144 (8K): their blocks then make the rows of table 4.
- Table 6 says 8K at 99.9 %: about 8.5 KB are still to come when 4K and 8K are allocated again.

Free choice: the purposes of the objects (the names below), the sizes of strings and records within
their classes, such that 1, 1, 5 and 21 sizes make the shares of table 7, and the order of the
strings. The seed decides only in which order the nodes are freed.

The paper contradicts itself in LRUsim's column: 0.03 % in table 3 and 0.08 % in table 4 for best
fit AO 8K need peaks 700 bytes apart. By the growth rule of our double buddy the large block that
comes after the tree is new memory, so its row in table 3 is like simple segregated storage's.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from simalloc.trace.trace import Trace
from simalloc.trace.workloads.lives import trace_of_lives
from simalloc.trace.workloads.provenance import SEED, reconstructed

_NODES: Final = 39_009

_BUFFERS: Final = (5120, 2352)

_PARTS: Final = {
    "options": (18, 18, 20, 12, 14, 16),
    "reader": (8, *_BUFFERS),
    "records": (16, 16, 16, 8, 8, 8, 8, 136, 136, 136, 168, 168, 168, 200, 200, 200, 4, 4, 4, 6),
    "tree": (36,) * _NODES,
    "plot": (44,),
    "raster": (8584,),
    "captions": (8,) * 11 + (4,) * 9,
    "writer": (*_BUFFERS, 592),
    "scratch": (12, 14, 18, 20, 5, 6),
    "axes": (16,) * 7 + (12, 14, 2, 2, 2, 3, 3, 3, 4, 6, 6, 6, 24, 24, 24, 24, 24),
    "labels": (24, 16, 8, 8, 4, 24, 24, 24, 24, 24),
}
"""The objects' sizes, in the order of allocation."""

_ENDS: Final = {"tree": "raster", "reader": "writer", "scratch": "axes"}
"""Objects that are freed before the end, each with the part that begins just after."""


def lrusim(seed: int = SEED) -> Trace:
    """Return a reconstruction of the trace of LRUsim; the seed orders the tree's frees."""
    sizes = [size for part in _PARTS.values() for size in part]
    lengths = [len(part) for part in _PARTS.values()]
    start = dict(zip(_PARTS, np.cumsum([0, *lengths[:-1]]).tolist(), strict=True))
    until = np.full(len(sizes), len(sizes))
    for part, end in _ENDS.items():
        until[start[part] : start[part] + len(_PARTS[part])] = start[end]
    order = np.arange(len(sizes))
    tree = slice(start["tree"], start["tree"] + _NODES)
    order[tree] = np.random.default_rng(seed).random(_NODES).argsort()
    return trace_of_lives(
        sizes,
        until,
        order=order,
        name="lrusim (reconstructed)",
        provenance=reconstructed(
            "LRUsim (analyses locality of reference)",
            "a reference trace of P2C",
            seed,
            departures="The tree is freed in random order.",
        ),
    )
