"""Alignments far above a page: both engines place alike, or refuse with the same message."""

import pytest

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.policy import CATALOGUE
from simalloc.trace import Trace

ALIGNED = sorted(
    name
    for name, row in CATALOGUE.items()
    if "alignment" in row.description.read_columns and row.description.runner == "online"
)
ALIGNMENTS = [1 << 31, 3 << 30, 1 << 40, (1 << 40) + 1, 1 << 47]
PAGE = 2 << 20


def outcome(trace, policy, engine, scale):
    """Return the result of a run, or the message of its error."""
    try:
        run = simulate(
            trace, policy, engine=engine, scale=scale, resident=True, page=PAGE, writes=False
        )
    except SimallocError as error:
        return str(error)
    footprints = (run.mapped, run.resident)
    figures = [(one.peak_bytes, one.bytes_at_max_live, one.final_bytes) for one in footprints]
    return figures, run.counters


@pytest.mark.parametrize("name", ALIGNED)
def test_engines_agree_on_large_alignments(name):
    for alignment in ALIGNMENTS:
        for scale in (1, 3, 16):
            trace = Trace.from_events(
                [0, 0, 1, 0], [0, 1, 0, 2], [17, 4096, 0, 300_000], alignment=[alignment, 0, 0, 8]
            )
            core, reference = (
                outcome(trace, name, engine, scale) for engine in ("core", "reference")
            )
            assert core == reference, (alignment, scale)
