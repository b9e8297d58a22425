"""Minimised findings of `make fuzz`, replayed: logs by format, simalloc's files, and addresses."""

from pathlib import Path

import file_inputs
import inputs
import pytest
import real_addresses
import zstandard

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.sweep.planfile import read_plan
from simalloc.trace.formats.importing import load_log

CORPUS = Path(__file__).parents[1] / "data" / "fuzz"
LOGS = sorted(path for path in CORPUS.glob("*/*") if path.parent.name in inputs.IMPORTS)
FILES = sorted(path for path in CORPUS.glob("*/*.zst") if path.parent.name in file_inputs.READERS)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_logs_are_read_or_refused_and_replayed(path):
    for lenient in (False, True):
        trace = inputs.read(path.parent.name, path.read_bytes(), lenient=lenient)
        if trace is not None:
            for engine in ("core", "reference"):
                simulate(trace, "ptmalloc", engine=engine)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_are_read_or_refused(path):
    content = zstandard.ZstdDecompressor().decompress(path.read_bytes(), 1 << 24)
    file_inputs.READERS[path.parent.name](content)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("plan/*.toml")), ids=lambda path: path.stem)
def test_plans_are_refused_with_a_sentence(path):
    with pytest.raises(SimallocError, match=path.name):
        read_plan(path)


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
