"""A device whose record begins late: the model starts with the state at that time."""

import gzip
import pickle
from pathlib import Path

import pytest

from simalloc.measure import what_if
from simalloc.measure.device.begun import begun
from simalloc.trace import Op
from simalloc.trace.catalogue import load

DATA = Path(__file__).parents[2] / "data" / "device"


def late(name, share, folder):
    """A real snapshot without the first part of its history."""
    with gzip.open(DATA / f"{name}.pickle.gz") as file:
        snapshot = pickle.load(file)
    history = next(each for each in snapshot["device_traces"] if each)
    del history[: int(share * len(history))]
    path = folder / f"{name}.pickle"
    path.write_bytes(pickle.dumps(snapshot, protocol=4))
    return load(path)


@pytest.mark.parametrize("share", [0.25, 0.5])  # a later start does not reveal the device's size
@pytest.mark.parametrize("name", ["default", "streams"])
def test_the_model_goes_on_from_the_recorded_state(name, share, tmp_path):
    trace = late(name, share, tmp_path)
    found = what_if(trace, [])
    assert found.recorded["first_reserved_bytes"] > 0
    assert found.model_has_start
    model, real = found.model, found.recorded
    assert model.peak_reserved_bytes == real["peak_reserved_bytes"]
    assert model.final_reserved_bytes == real["final_reserved_bytes"]
    assert (model.device_alloc, model.device_free) == (real["segment_alloc"], real["segment_free"])


def test_the_start_is_as_large_as_it_was_and_then_come_the_same_events(tmp_path):
    trace = late("default", 0.5, tmp_path)
    whole, segments = begun(trace)
    start = trace.provenance["device"]["start"]
    assert segments == len(start["segments"])
    first = len(start["addresses"])
    rest = len(trace) - first
    assert whole.size[-rest:].tolist() == trace.size[first:].tolist()
    assert whole.op[-rest:].tolist() == trace.op[first:].tolist()
    live_at_start = whole.op[:-rest] == Op.MALLOC
    assert live_at_start.sum() - (whole.op[:-rest] == Op.FREE).sum() == first


@pytest.mark.parametrize("name", ["expandable", "rounded"])
def test_what_cannot_be_rebuilt_begins_empty(name, tmp_path):
    found = what_if(late(name, 0.5, tmp_path), [])
    assert not found.model_has_start
