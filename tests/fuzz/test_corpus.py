"""Shrunk findings of `make fuzz`, replayed: logs by format, and traces whose addresses differed."""

from pathlib import Path

import inputs
import pytest
import real_addresses

from simalloc.heap import simulate
from simalloc.trace.formats.importing import load_log

CORPUS = Path(__file__).parents[1] / "data" / "fuzz"
LOGS = sorted(path for path in CORPUS.glob("*/*") if path.parent.name in inputs.IMPORTS)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_logs_are_read_or_refused_and_replayed(path):
    for lenient in (False, True):
        trace = inputs.read(path.parent.name, path.read_bytes(), lenient=lenient)
        if trace is not None:
            for engine in ("core", "reference"):
                simulate(trace, "ptmalloc", engine=engine)


def test_random_traces_have_the_addresses_of_the_real_malloc(tmp_path):
    model = real_addresses.model()
    if model is None:
        pytest.skip("no model of this system's C library")
    program = real_addresses.build(tmp_path)
    for seed in range(5):
        assert not real_addresses.first_difference(program, model, real_addresses.drawn(seed)), seed
    for path in sorted(CORPUS.glob("addresses/*.txt")):
        trace = load_log(path, from_format="text")
        events = real_addresses.events_of(trace)
        assert not real_addresses.first_difference(program, model, events), path.name
