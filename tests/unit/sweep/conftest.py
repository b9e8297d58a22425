"""Small traces and plans for sweeps."""

import numpy as np
import pytest

from simalloc.sweep.planfile import plan_of
from simalloc.trace import Trace, write_trace


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


@pytest.fixture
def traces(tmp_path):
    """Three trace files in logs/, of different lengths; returns their folder."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for seed in (1, 2, 3):
        write_trace(small_trace(seed, 200 * seed), folder / f"small-{seed}.npz")
    return folder


@pytest.fixture
def plan(traces):
    """A plan of three traces and four policies."""
    document = {
        "traces": ["logs/*.npz"],
        "policies": {
            "first-fit-ao": {"growth": ["4K", "64K"]},
            "best-fit-lifo": {},
            "lea-2.6.1": {},
        },
    }
    return plan_of(document, traces.parent)


@pytest.fixture
def results(tmp_path):
    """The path of a file of results that is not there yet."""
    return tmp_path / "results.sqlite"
