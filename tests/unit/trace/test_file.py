"""The project's own trace file: round trips, streaming, and files with false content."""

import hashlib
import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from made_traces import random_events, same, traces

from simalloc.errors import SimallocError, TraceError
from simalloc.trace import (
    Op,
    ReadEvents,
    Trace,
    TraceReader,
    TraceWriter,
    chunk,
    header,
    open_trace,
    read_trace,
    write_trace,
)

EARLIER = Path(__file__).parents[2] / "data/traces"

TRACE = Trace.from_events(
    [0, 0, 2, 1, 0], [0, 1, 0, 1, 2], [300, 20, 70000, 0, 5], name="tiny", time=[5, 3, 9, 9, 100]
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trace.npz"


def rewrite(path, change):
    """Rewrite a file after a change of its members, a dict of bytes."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def with_header(change):
    def changed(members):
        said = json.loads(bytes(np.load(io.BytesIO(members["header.npy"]))))
        change(said)
        members["header.npy"] = npy(np.frombuffer(json.dumps(said).encode(), np.uint8))

    return changed


@given(trace=traces())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(trace, path):
    write_trace(trace, path)
    assert same(read_trace(path), trace)


@given(trace=traces(max_events=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip_of_many_chunks(trace, path):
    with pytest.MonkeyPatch.context() as patch:
        for module in ("trace", "intake", "reader"):
            patch.setattr(f"simalloc.trace.{module}.CHUNK_EVENTS", 7)
        patch.setitem(header._IDENTITY, "chunk_events", 7)
        write_trace(trace, path)
        assert same(read_trace(path), trace)
        with TraceReader(path) as reader:
            assert reader.header.sha256 == trace.sha256()


def test_times_may_lie_as_far_apart_as_can_be(path):
    trace = Trace.from_events([0, 0, 0], [0, 1, 2], [8, 8, 8], time=[-(2**63), 2**63 - 1, -1])
    write_trace(trace, path)
    assert read_trace(path).time.tolist() == trace.time.tolist()


def test_equal_traces_make_equal_files(tmp_path):
    write_trace(TRACE, tmp_path / "a.npz")
    write_trace(TRACE, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_the_header_says_what_the_events_add_up_to(path):
    write_trace(TRACE, path)
    with TraceReader(path) as reader:
        said = reader.header
    assert (said.name, said.columns, said.sha256) == ("tiny", ("time",), TRACE.sha256())
    assert vars(said.totals) == {
        "events": 5,
        "objects": 3,
        "reallocs": 1,
        "allocated_bytes": 70325,
        "max_live_objects": 2,
        "max_live_bytes": 70020,
        "final_live_objects": 2,
        "final_live_bytes": 70005,
    }


def test_numpy_reads_the_file_as_the_document_says(path):
    write_trace(TRACE, path)
    with np.load(path) as members:
        ops, sizes, ages = members["op.0"], members["size.0"], members["age.0"]
        steps = members["time.0"]
        said = json.loads(bytes(members["header"]))
    assert ops.tolist() == [[0, 0, 2, 1, 0]]
    weights = 256 ** np.arange(len(sizes))
    assert (weights @ sizes).tolist() == [300, 20, 70000, 5]
    assert ages.tolist() == [[2, 1]]
    assert steps.tolist() == [[10, 3, 12, 0, 182]]
    assert said["format"] == "simalloc trace"
    assert said["version"] == 3


def test_the_digests_are_the_documented_ones(path):
    write_trace(TRACE, path)
    digests = []
    with np.load(path) as members:
        for names in (("op.0", "size.0", "age.0"), ("time.0",)):
            expected = hashlib.sha256()
            for name in names:
                content = members[name].tobytes()
                expected.update(len(content).to_bytes(8, "little") + content)
            digests.append(expected.hexdigest())
    with TraceReader(path) as reader:
        assert [reader.header.sha256, reader.header.digests["time"]] == digests
    both = "{}\ntime {}\n".format(*digests).encode()
    for trace in (TRACE, open_trace(path)):
        assert trace.sha256() == trace.digest(("alignment",)) == digests[0]
        assert trace.digest(("time", "thread")) == hashlib.sha256(both).hexdigest()


def test_files_of_earlier_versions_are_read():
    heap = read_trace(EARLIER / "version-1.npz")
    assert heap.op.tolist() == [0, 0, 2, 1, 0, 0, 1, 2, 1, 0]
    assert heap.object.tolist() == [0, 1, 0, 1, 2, 3, 0, 2, 2, 4]
    assert heap.size.tolist() == [300, 20, 70000, 0, 5, 1 << 33, 0, 1 << 40, 0, 0]
    assert heap.alignment.tolist() == [0, 64, 0, 0, 0, 4096, 0, 0, 0, 0]
    assert heap.time.tolist() == [5, 3, 9, 9, 100, 1 << 40, 0, 0, 1, 2]
    assert heap.site.tolist() == [1, 2, 3, 0, 1, 2, 3, 0, 9, 1]
    device = read_trace(EARLIER / "version-2.npz")
    assert device.op.tolist() == [0, 3, 0, 4, 2, 3, 1, 4, 0, 1, 1]
    assert device.object.tolist() == [0, 0, 1, -1, 1, 1, 0, -1, 2, 2, 1]
    assert device.stream.tolist() == [0, 1, 0, 0, 2, 1, 0, 0, 3, 0, 0]


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_earlier_version_has_the_digests_of_now(version, path):
    earlier = open_trace(EARLIER / f"version-{version}.npz")
    trace = earlier.in_memory()
    write_trace(trace, path)
    for columns in ((), trace.columns):
        assert earlier.digest(columns) == trace.digest(columns) == open_trace(path).digest(columns)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update({"op.0.npy": npy(np.zeros(1, np.uint8))}), "1 bytes of ops"),
        (lambda m: m.update({"op.0.npy": npy(np.full(3, 255, np.uint8))}), "beyond the last"),
        (lambda m: m.update({"age.0.npy": npy(np.zeros((1, 3), np.uint8))}), "do not agree"),
        (lambda m: m.update({"stream.0.npy": npy(np.ones((1, 11), np.uint8))}), "SHA-256"),
    ],
)
def test_files_of_version_2_that_are_not_what_they_say(path, change, words):
    path.write_bytes((EARLIER / "version-2.npz").read_bytes())
    rewrite(path, change)
    with pytest.raises(TraceError, match=words):
        read_trace(path)


def test_a_column_that_begins_late_is_zero_before(path):
    with pytest.MonkeyPatch.context() as patch:
        for module in ("trace", "intake", "reader", "writer"):
            patch.setattr(f"simalloc.trace.{module}.CHUNK_EVENTS", 3)
        patch.setitem(header._IDENTITY, "chunk_events", 3)
        op, key = np.zeros(4, np.uint8), np.arange(4)
        with TraceWriter(path) as writer:
            writer.append(ReadEvents(op, key, key))
            writer.append(ReadEvents(op, key + 4, key, columns={"time": np.arange(7, 11)}))
        trace = read_trace(path)
        assert trace.time.tolist() == [0, 0, 0, 0, 7, 8, 9, 10]
        assert open_trace(path).digest(("time",)) == trace.digest(("time",))


def test_a_trace_streams_in_and_out_in_bounded_memory(path):
    runs, run, live = 24, 1 << 17, 1000
    op, key, size = random_events(run, live)
    still_live = np.setdiff1d(key[op == Op.MALLOC], key[op == Op.FREE])
    op = np.concatenate([op, np.full(len(still_live), Op.FREE, np.uint8)])
    key = np.concatenate([key, still_live])
    size = np.concatenate([size, np.zeros(len(still_live), np.int64)])
    tracemalloc.start()
    with TraceWriter(path) as writer:
        for number in range(runs):
            writer.append(ReadEvents(op, key + number * run, size))
    with TraceReader(path) as reader:
        events = sum(len(part) for part in reader.chunks())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert events == runs * len(op) > 3 * chunk.CHUNK_EVENTS
    assert peak < 4 * 21 * chunk.CHUNK_EVENTS, "four chunks, however long the trace is"


def test_an_error_leaves_what_was_there(path):
    path.write_bytes(b"before")
    with pytest.raises(TraceError, match="event 1"), TraceWriter(path) as writer:
        writer.append(ReadEvents(np.array([0, 1], np.uint8), np.array([1, 2]), np.array([8, 0])))
    assert path.read_bytes() == b"before"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.pop("size.0.npy"), "has 4 members, not 5"),
        (lambda m: m.update({"extra.npy": b""}), "has 6 members, not 5"),
        (lambda m: m.update({"op.0.npy": b"nonsense"}), "op.0 is not an array of bytes"),
        (lambda m: m.update({"op.0.npy": npy(np.zeros(2, np.int64))}), "not an array of bytes"),
        (lambda m: m.update({"op.0.npy": npy(np.zeros((1, 1), np.uint8))}), "1 bytes of ops"),
        (lambda m: m.update({"op.0.npy": npy(np.zeros((1, 9), np.uint8))}), "the limit is 5 bytes"),
        (lambda m: m.update({"op.0.npy": npy(np.full((1, 5), 3, np.uint8))}), "not live"),
        (lambda m: m.update({"op.0.npy": npy(np.full((1, 5), 7, np.uint8))}), "op 7 is unknown"),
        (lambda m: m.update({"op.0.npy": npy(np.full((1, 5), 6, np.uint8))}), "do not agree"),
        (lambda m: m.update({"op.0.npy": m["op.0.npy"][:-1]}), "does not have the 5 bytes"),
        (lambda m: m.update({"age.0.npy": npy(np.array([[3, 1]], np.uint8))}), "not live"),
        (lambda m: m.update({"age.0.npy": npy(np.array([[0, 1]], np.uint8))}), "not live"),
        (lambda m: m.update({"age.0.npy": npy(np.array([[2]], np.uint8))}), "do not agree"),
        (lambda m: m.update({"age.0.npy": npy(np.array([[2, 1], [0, 0]], np.uint8))}), "wider"),
        (lambda m: m.update({"age.0.npy": npy(np.zeros((0, 2), np.uint8))}), "0 planes"),
        (lambda m: m.update({"size.0.npy": npy(np.full((8, 4), 255, np.uint8))}), "requests"),
        (
            lambda m: m.update({"size.0.npy": npy(np.full((1, 4), 9, np.uint8))}),
            "totals in its header",
        ),
        (lambda m: m.update({"time.0.npy": npy(np.full((1, 4), 9, np.uint8))}), "4 numbers for 5"),
        (lambda m: m.update({"time.0.npy": npy(np.full((1, 5), 8, np.uint8))}), "column time"),
        (with_header(lambda h: h.update(version=4)), "version 4"),
        (with_header(lambda h: h.update(format="other")), "the file is not a simalloc trace"),
        (with_header(lambda h: h.pop("name")), "does not match version 3"),
        (with_header(lambda h: h.update(columns={"colour": ""})), "does not match version 3"),
        (with_header(lambda h: h["totals"].update(events=-1)), "does not match version 3"),
        (with_header(lambda h: h["totals"].update(max_live_bytes=1)), "totals in its header"),
        (with_header(lambda h: h["totals"].update(events=4)), "5 numbers for 4 events"),
        (with_header(lambda h: h["totals"].update(events=1 << 60)), "members"),
        (with_header(lambda h: h.update(sha256="0" * 64)), "SHA-256"),
    ],
)
def test_files_that_are_not_what_they_say(path, change, words):
    write_trace(TRACE, path)
    rewrite(path, change)
    with pytest.raises(TraceError, match=words) as caught:
        read_trace(path)
    assert str(path) in str(caught.value)


def test_a_trace_larger_than_memory_is_refused_before_memory_is_taken(path, monkeypatch):
    write_trace(TRACE, path)
    monkeypatch.setattr("simalloc.memory.SMALL", 0)
    monkeypatch.setenv("SIMALLOC_MEMORY", "100")
    with pytest.raises(SimallocError, match=f"{path}: a trace of 5 events in memory needs"):
        read_trace(path)


def test_a_member_that_inflates_without_end_is_read_no_further_than_need_be(path):
    write_trace(TRACE, path)
    bomb = npy(np.zeros((1, 1 << 26), np.uint8)).replace(b"(1, 67108864), }", b"(1, 5), }       ")
    rewrite(path, lambda members: members.update({"op.0.npy": bomb}))
    tracemalloc.start()
    with pytest.raises(TraceError, match="does not have the 5 bytes"):
        read_trace(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_every_truncation_is_refused(path):
    write_trace(TRACE, path)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(TraceError):
            read_trace(path)


def test_a_missing_file_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_trace(tmp_path / "none.npz")


def test_texts_that_are_no_unicode_are_kept(tmp_path):
    """Python represents file names that are not UTF-8 in this way."""
    path = tmp_path / "trace.npz"
    trace = Trace.from_events([0], [0], [8], provenance={"executable": "/a\udcffb"}, name="\udc80")
    write_trace(trace, path)
    again = read_trace(path)
    assert again.provenance == trace.provenance
    assert again.name == trace.name
