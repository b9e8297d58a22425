"""Round trips through every format that can be written."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from made_traces import random_events, traces

from simalloc.trace import Op, Trace, write_trace
from simalloc.trace.formats.exporting import export_trace
from simalloc.trace.formats.importing import load_log, open_log
from simalloc.trace.provenance import has_thread_blocks


def there_and_back(trace, folder, name):
    write_trace(trace, folder / "trace.npz")
    export_trace(folder / "trace.npz", folder / "log", name)
    return load_log(folder / "log", from_format=name)


@pytest.mark.parametrize("name", ["text", "rep"])
@given(trace=traces(devices=False))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_with_reallocs_nothing_is_lost(name, trace, tmp_path):
    # The malloc lab's driver frees the block of a realloc to 0.
    assume(name != "rep" or not ((trace.op == Op.REALLOC) & (trace.size == 0)).any())
    assert there_and_back(trace, tmp_path, name).sha256() == trace.sha256()


@pytest.mark.parametrize(
    ("provenance", "has"),
    [({"recorder": "simalloc record"}, True), ({"thread_blocks": True}, True), ({}, False)],
)
def test_text_states_whether_the_blocks_of_threads_are_included(provenance, has, tmp_path):
    trace = Trace.from_events([Op.MALLOC, Op.FREE], [0, 0], [8, 0], provenance=provenance)
    again = there_and_back(trace, tmp_path, "text")
    assert has_thread_blocks(again.provenance) is has
    path = tmp_path / "log"
    path.write_bytes(b"\r\n# words\n" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert has_thread_blocks(load_log(path).provenance) is has
    with open_log(path, thread_blocks=not has) as opened:
        assert opened.thread_blocks is not has
    path.write_bytes(b"m 0 8\n# thread-blocks: included\n")
    assert not has_thread_blocks(load_log(path).provenance)


def freed_first(trace, *, everything=False):
    """Return a trace with a free and a malloc for each realloc; free `everything` at the end."""
    op, key, size = [], [], []
    for each in zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True):
        for kind in (Op.FREE, Op.MALLOC) if each[0] == Op.REALLOC else (each[0],):
            op.append(kind)
            key.append(each[1])
            size.append(each[2])
    last = {each: number for number, each in enumerate(key) if op[number] == Op.MALLOC}
    left = [each for each in last if op[len(key) - 1 - key[::-1].index(each)] == Op.MALLOC]
    for each in sorted(left, key=last.get) if everything else ():
        op.append(Op.FREE)
        key.append(each)
        size.append(0)
    empty = np.zeros(0, np.int64)
    return Trace.from_events(op, key, size) if op else Trace.from_events(empty, empty, empty)


@pytest.mark.parametrize("name", ["gabber", "lifetimes"])
@given(trace=traces(devices=False))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_without_reallocs_one_becomes_a_free_and_a_malloc(name, trace, tmp_path):
    if len(trace):
        expected = freed_first(trace, everything=name == "lifetimes")
        assert sorted_ends(there_and_back(trace, tmp_path, name)) == sorted_ends(expected)


def sorted_ends(trace):
    """Return the events, with the frees at the end, whose order is undefined, sorted by object."""
    events = list(zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True))
    end = len(events)
    while end and events[end - 1][0] == Op.FREE:
        end -= 1
    return events[:end], sorted(events[end:])


def test_lifetimes_over_many_chunks(tmp_path):
    op, key, size = random_events(3 << 19, 1000)
    trace = Trace.from_events(op, key, size)
    again = there_and_back(trace, tmp_path, "lifetimes")
    length = len(trace)
    assert (again.op[:length] == trace.op).all()
    assert (again.object[:length] == trace.object).all()
    assert (again.size[:length] == trace.size).all()
    assert (again.op[length:] == Op.FREE).all()


def test_lifetimes_have_the_alignments_of_a_trace(tmp_path):
    trace = Trace.from_events([0, 0, 2, 1], [0, 1, 0, 0], [8, 9, 7, 0], alignment=[16, 0, 32, 0])
    again = there_and_back(trace, tmp_path, "lifetimes")
    assert (tmp_path / "log").read_text() == (
        "id,lower,upper,size,alignment\n0,0,2,8,16\n2,2,3,7,32\n1,1,4,9,1\n"
    )
    assert again.alignment[again.op == Op.MALLOC].tolist() == [16, 1, 32]


def test_what_a_rep_file_says_first(tmp_path):
    trace = Trace.from_events([0, 0, 2, 1], [5, 6, 5, 6], [10, 20, 30, 0])
    write_trace(trace, tmp_path / "trace.npz")
    export_trace(tmp_path / "trace.npz", tmp_path / "log.rep", "rep")
    assert (tmp_path / "log.rep").read_text() == "50\n2\n4\n1\na 0 10\na 1 20\nr 0 30\nf 1\n"
