"""The reader of pickled data: the same objects as Python's, no code, and a memory limit."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc.trace._c import read_pickle

MIB = 1 << 20
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())
DATA = st.recursive(
    SCALARS,
    lambda parts: st.one_of(
        st.lists(parts),
        st.lists(parts).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers()), parts),
    ),
)


def read(content, most=MIB):
    return read_pickle(content, most)


@given(data=DATA, protocol=st.integers(2, 5))
def test_data_is_what_was_written(data, protocol):
    assert read(pickle.dumps(data, protocol))[0] == data


def test_what_is_shared_stays_shared():
    part = ["a", {}]
    (one, other), _, _ = read(pickle.dumps([part, part]))
    assert one is other
    whole = [1]
    whole.append(whole)
    found = read(pickle.dumps(whole))[0]
    assert found[1] is found


def test_entries_become_rows():
    frames = [{"name": "f"}]
    entries = [{"action": "alloc", "addr": 1, "size": 2, "frames": [*frames]} for _ in range(3)]
    entries.append({"action": "oom", "size": 5, "device_free": 9, "stream": 1, "time_us": 8})
    entries.append({"action": "alloc", "addr": 2**52, "size": 2})
    whole, table, sequences = read(pickle.dumps([entries[:3], 7, [entries[3], 8, entries[4]]]))
    assert whole == [[range(3)], 7, [range(3, 4), 8, range(4, 5)]]
    rows = np.frombuffer(table, np.int64).reshape(-1, 7)
    assert rows[:, :6].tolist() == [
        *3 * [[0, 1, 2, 0, 0, 0]],
        [4, 9, 5, 1, 0, 8],
        [10, 0, 0, 0, 0, 0],
    ]
    assert [sequences[number - 1] for number in rows[:3, 6]] == 3 * [frames]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cut off"),
        (b"\x80\x04", "cut off"),
        (pickle.dumps([1, 2, 3])[:-1], "cut off"),
        (b"X\xff\xff\xff\xff.", "cut off"),
        (b"\x80\x02}r\xff\xff\xff\x7f.", "damaged"),  # a memo of 2**31 entries
        (b"\x80\x02h\x00.", "damaged"),
        (b"\x80\x02e.", "damaged"),
        (b"\x80\x02K\x01K\x02.", "damaged"),
        (b"\x80\x02(K\x01K\x02u.", "damaged"),
        (b"\x80\x02}(K\x01u.", "damaged"),
        (b"\x80\x02](K\x01(e.", "damaged"),
        (b"\x80\x020.", "damaged"),
        (b"\x80\x02\x87.", "damaged"),
        (b"\x80\x02}]K\x01s.", "unhashable"),
        (b"\x80\x02\x8a\xffa.", "cut off"),
        (pickle.dumps(2 ** (8 * 1100)), "too long"),
        (pickle.dumps({1, 2}), "not data"),
        (pickle.dumps(pytest.approx, 2), "it names _pytest.approx.approx, but"),
        (pickle.dumps(pytest.approx, 4), "it names _pytest.approx.approx, but"),
    ],
)
def test_all_else_is_refused(content, words):
    with pytest.raises((ValueError, TypeError), match=words):
        read(content)


def test_deep_nesting_is_refused():
    with pytest.raises(RecursionError):
        read(b"\x80\x02" + 50_000 * b"]" + 49_999 * b"a" + b".", 64 * MIB)


@pytest.mark.parametrize(
    "part",
    [b"]", b"(", b"}", b")", b"N", b"K\x01", b"h\x00", b"]\x94", b"}K\x01K\x02s"],
)
def test_what_takes_too_much_memory_is_refused(part):
    content = b"\x80\x04]\x94(" + MIB // len(part) * part + b"e."
    with pytest.raises(ValueError, match="it would need too much memory"):
        read(content, 2 * MIB)


def test_what_python_objects_would_take_counts_too():
    content = b"\x80\x04]\x94(" + 1000 * b"K\x01" + b"e."
    assert len(read(content, 200_000)[0]) == 1000
    with pytest.raises(ValueError, match="it would need too much memory"):
        read(content, 70_000)
