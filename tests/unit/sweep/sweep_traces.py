"""The traces of the sweep tests."""

import numpy as np

from simalloc.trace import Trace


def small_trace(seed, events=400):
    """Return a trace of random mallocs and frees of small sizes."""
    draw = np.random.default_rng(seed)
    live, rows, made = [], [], 0
    for _ in range(events):
        if live and draw.random() < 0.45:
            rows.append((1, live.pop(draw.integers(len(live))), 0))
        else:
            rows.append((0, made, int(draw.integers(1, 2000))))
            live.append(made)
            made += 1
    return Trace.from_events(*zip(*rows, strict=True), name=f"small-{seed}")
