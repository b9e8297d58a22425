"""Reconstruction of LRUsim, Van Wieren's locality analyser (Johnstone and Wilson 1998).

The program is not available. According to the paper, a large AVL tree grows monotonically, by one
node at the first reference to each block of memory. Objects are freed only at the end of a run. The
output is a PostScript plot. All other properties are inferred from the printed figures (bytes
before scaling):

- A node has 36 bytes: 64 / 36 - 1 = 77.8 % (binary buddy, 77.7 in table 4), 48 / 36 - 1 = 33.3 %
  (double buddy, 33.7), and five nodes in 256 bytes cost 42.2 % (simple segregated storage with
  3*2^N, 43.2).
- All 39,010 objects of table 2's class 64 are nodes, except one of 44 bytes that follows them. The
  average lifetime requires 46 bytes for this object, or 44 bytes if the two buffers are not quite
  the first objects.
- The peak of live bytes is between 1,413,470 and 1,413,596, because best fit's heap is then 346
  times 4096 bytes (0.26 %), and 1380 K. Besides class 64, 29 objects with about 9,200 bytes are
  live at the peak (table 1 has 39,039 objects).
- Binary buddy has 14.5 to 15.9 KB besides the nodes (77.7 %). Therefore these 29 objects include
  the single objects of classes 4K and 8K, but not of 1K and 16K, and the nine objects of class 256.
- Measure #3 of simple segregated storage is 13328 % and, with 3*2^N, 10595 %. Therefore the heap
  grows last when 18,843 +- 6 and 18,926 +- 7 bytes are live. At this time, the tree has been freed,
  and new objects follow.
- 64 objects with 17,400 bytes are allocated after the peak (table 1), which is 7.4 KB more than
  their live bytes at that time. Therefore classes 4K and 8K, which have one object at any time, are
  freed and allocated again.
- Without the 8 bytes that table 2 adds, the single objects have more than 8192, 4096, 2048 and 512
  bytes, and at most 12288 (16K) and 6144 (8K). With these sizes, their blocks result in the rows of
  table 4.
- Table 6 has 8K at 99.9 %, so about 8.5 KB are still to be allocated when 4K and 8K are allocated
  again.

The following properties are free choices: the purposes of the objects (the names below), the order
of the strings, and the sizes of strings and records within their classes, chosen so that 1, 1, 5
and 21 sizes result in the shares of table 7. The seed determines only the order in which the nodes
are freed.

The paper contradicts itself in LRUsim's column: 0.03 % in table 3 and 0.08 % in table 4 for best
fit AO 8K require peaks that are 700 bytes apart. With the growth rule of our double buddy, the
large block that is allocated after the tree is new memory. Therefore its row in table 3 is similar
to the row of simple segregated storage.
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
"""Objects that are freed before the end, each with the part that begins just afterwards."""


def lrusim(seed: int = SEED) -> Trace:
    """Return a reconstruction of LRUsim's trace.

    The seed determines the order of the tree's frees.
    """
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
