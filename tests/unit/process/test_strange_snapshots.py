"""Untrusted snapshots are refused with a message before memory is allocated."""

import io
import json
import zipfile

import numpy as np
import pytest
from command import simalloc
from process_programs import running

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap.start import Start
from simalloc.memory import VARIABLE
from simalloc.process import LiveProcess, load_snapshot, save_snapshot, take_snapshot
from simalloc.trace import Trace


@pytest.fixture(scope="module")
def members(compiled):
    """Members of a saved snapshot, by name."""
    stream = io.BytesIO()
    with running(compiled("continued"), "1") as target:
        save_snapshot(take_snapshot(LiveProcess(target.process)), stream)
    with zipfile.ZipFile(stream) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def refusal(members, path, **changed):
    """Write a snapshot with some changed members; return each command's message of refusal."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**members, **changed}.items():
            archive.writestr(name, content)
    texts = set()
    for command in (["snapshot", path], ["run", "espresso", "-p", "ptmalloc", "--start", path]):
        done = simalloc(*command)
        assert done.exit_code == 2
        texts.add(done.stderr.removeprefix("simalloc: error: ").strip())
    (text,) = texts
    return text


def policy_of(start):
    """Return the model of a release with the lists of the process."""
    return f"ptmalloc:version={'2.36' if start.has_fast_lists else '2.44'}"


HEADERS = [
    ("threads", "many", "threads has a value of an unexpected type"),
    ("command", 5, "command has a value of an unexpected type"),
    ("seconds", 1e999, "seconds has a value of an unexpected type"),
    ("problems", [None], "problems has a value of an unexpected type"),
    ("mallinfo", {"arena": "x"}, "mallinfo has a value of an unexpected type"),
    ("parts", [[1, 2]], "must be a mapping"),
    ("parts", "main", "must be a mapping"),
    ("pauses", {"stops": -0.5}, "stops has a value of an unexpected type"),
    ("foreign", [{"classes": 5}], "not iterable"),
    ("keepers", {"a": 1}, "must be a mapping"),
    ("extra", 1, "unexpected keyword argument 'extra'"),
    ("state", {"has_fast_lists": 1, "parameters": {}}, "has_fast_lists has a value"),
    ("format", "simalloc snapshot 9", "of another version of simalloc"),
]


@pytest.mark.parametrize(("name", "value", "why"), HEADERS)
def test_values_of_another_type_are_refused(members, tmp_path, name, value, why):
    header = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes())
    header[name] = value
    changed = saved(np.frombuffer(json.dumps(header).encode(), np.uint8))
    assert why in refusal(members, tmp_path / "heap.npz", **{"header.npy": changed})


@pytest.mark.parametrize("text", ["[]", "5", "{", "[" * 100_000, "\xff"])
def test_a_header_that_is_no_object_is_refused(members, tmp_path, text):
    changed = saved(np.frombuffer(text.encode("latin-1"), np.uint8))
    refusal(members, tmp_path / "heap.npz", **{"header.npy": changed})


ARRAYS = [
    ("state", lambda column: column + np.uint8(100), "a block has an unknown state"),
    ("state", lambda column: column[:-1], "differ in length"),
    ("size", lambda column: column[None], "size is not an array of int64 with 1 dimensions"),
    ("size", lambda column: column.astype("f8"), "size is not an array of int64 with 1 dimensions"),
    ("address", lambda column: column.astype(">u8"), "address is not an array of uint64"),
    ("state_lists", lambda column: column.astype("S5"), "state_lists is not an array of int64"),
    ("state_idle", lambda column: column.reshape(-1, 1), "state_idle is not an array of int64"),
]


@pytest.mark.parametrize(("name", "change", "why"), ARRAYS)
def test_columns_of_another_kind_are_refused(members, tmp_path, name, change, why):
    changed = saved(change(np.load(io.BytesIO(members[f"{name}.npy"]))))
    assert why in refusal(members, tmp_path / "heap.npz", **{f"{name}.npy": changed})


@pytest.mark.parametrize("text", [b"", b"no array", b"\x93NUMPY\1\0\x10\0{'descr': (1,\n\n\n\n\n"])
def test_what_is_no_array_is_refused(members, tmp_path, text):
    assert "is damaged" in refusal(members, tmp_path / "heap.npz", **{"size.npy": text})


def test_what_inflates_to_more_than_there_is_is_refused(members, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "80M")
    zeros = saved(np.zeros(6 << 20, np.int64))
    why = refusal(members, tmp_path / "heap.npz", **{"size.npy": zeros})
    assert "80 MiB may be used here" in why


def test_a_header_of_gigabytes_is_refused(members, tmp_path):
    changed = saved(np.full(65 << 20, ord(" "), np.uint8))
    why = refusal(members, tmp_path / "heap.npz", **{"header.npy": changed})
    assert "exceed the limit of 67,108,864" in why


def test_a_heap_beyond_the_end_of_addresses_is_refused(members, tmp_path):
    segments = np.load(io.BytesIO(members["state_segments.npy"]))
    segments[0, 2:] = (1 << 62) + (1 << 60)
    path = tmp_path / "heap.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, saved(segments) if name == "state_segments.npy" else content)
    start = Start.of(load_snapshot(path))
    trace = Trace.from_events([0], [0], [8])
    for engine in ("core", "reference"):
        with pytest.raises(SimallocError, match=r"the heap would exceed 2\*\*62 bytes"):
            simulate(start.before(trace), policy_of(start), start=start, engine=engine)


TUNABLES = (
    "trim_threshold",
    "top_pad",
    "mmap_threshold",
    "mmap_max",
    "tcache_count",
    "arena_max",
    "adjusts",
)


@pytest.mark.parametrize("name", TUNABLES)
def test_every_tunable_is_used_or_refused(members, tmp_path, name):
    path = tmp_path / "heap.npz"
    trace = Trace.from_events([0], [0], [8])
    refused = 0
    for value in (0, 1, 2, (1 << 16) - 1, 1 << 16, 1 << 31, 1 << 40, (1 << 40) + 1, 1 << 62):
        header = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes())
        header["state"]["parameters"][name] = value
        changed = saved(np.frombuffer(json.dumps(header).encode(), np.uint8))
        with zipfile.ZipFile(path, "w") as archive:
            for each, content in {**members, "header.npy": changed}.items():
                archive.writestr(each, content)
        try:
            start = Start.of(load_snapshot(path))
        except SimallocError:
            refused += 1
        else:
            assert simulate(start.before(trace), policy_of(start), start=start).finished
    assert 2 <= refused <= 7
