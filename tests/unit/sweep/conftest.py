"""Small traces and plans for sweeps."""

import pytest
from sweep_traces import small_trace

from simalloc.sweep.planfile import plan_of
from simalloc.trace import write_trace


@pytest.fixture
def traces(tmp_path):
    """Write three trace files of different lengths to logs/, and return their folder."""
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
    """The path of a file of results that does not exist yet."""
    return tmp_path / "results.sqlite"
