"""Binary formats: records, snapshots of PyTorch, files of memray; and lifetimes."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from patience import PATIENCE

from simalloc.errors import TraceError
from simalloc.trace import Op
from simalloc.trace.formats.importing import load_log, open_log
from simalloc.trace.formats.lifetimes_table import read_table, read_title

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC


def events(trace):
    return list(zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True))


RECORDS = [(1, 0x1000, 8), (1, 0x2000, 0), (2, 0x1000, 20), (3, 0x2000, 0)]


@pytest.mark.parametrize("layout", ["<u4", ">u4", "<u8", ">u8"])
def test_johnstone_and_wilsons_records(log, layout):
    trace = load_log(log(np.array(RECORDS, layout).tobytes()))
    assert trace.provenance["format"] == "johnstone-wilson"
    assert events(trace) == [(M, 0, 8), (M, 1, 0), (R, 0, 20), (F, 1, 0)]


def test_a_realloc_that_moved_is_a_free_of_an_unknown_location(log):
    path = log(np.array([*RECORDS, (3, 0x3000, 0)], "<u8").tobytes())
    with pytest.raises(TraceError, match="frees object 0x3000"):
        load_log(path)
    assert len(load_log(path, lenient=True)) == 4


def test_records_that_are_wrong(log):
    whole = np.array(RECORDS * 5000, ">u4").tobytes().replace(b"\0\0\0\2", b"\0\0\0\3")
    many = np.array([(1, 16 * (n + 1), 8) for n in range(9000)], "<u4")
    many[8000, 0] = 7
    with pytest.raises(TraceError, match="operation 7"):
        load_log(log(many.tobytes()))
    assert len(load_log(log(many.tobytes()), lenient=True)) == 8999
    with pytest.raises(TraceError, match="last record is cut off"):
        load_log(log(many[:5].tobytes() + b"\0"))
    with pytest.raises(TraceError, match="is in an unknown format"):
        load_log(log(whole))
    with pytest.raises(TraceError, match="records of three words"):
        load_log(log(b"m 0 8\n"), from_format="johnstone-wilson")


def test_lifetimes_in_any_order(log):
    trace = load_log(log(b"id,lower,upper,size\nb,5,9,20\na,3,5,10\nc,0,100,0\n"))
    assert trace.provenance["format"] == "lifetimes"
    assert events(trace) == [(M, 0, 0), (M, 1, 10), (F, 1, 0), (M, 2, 20), (F, 2, 0), (F, 0, 0)]
    path = log(b"id,lower,upper,size\nb,5,9,20\na,5,5,10\n")
    with pytest.raises(TraceError, match="line 3: the object ends before it begins"):
        load_log(path)
    assert len(load_log(path, lenient=True)) == 2


def test_lifetimes_need_no_title(log):
    assert events(load_log(log(b"0,1,2,3\n"))) == [(M, 0, 3), (F, 0, 0)]


def test_lifetimes_by_the_names_of_their_columns(log):
    trace = load_log(
        log(b"SIZE,offset,Buffer_id,alignment,start,end\n20,7,b,64,5,9\n10,7,,0,10,12\n")
    )
    assert events(trace) == [(M, 0, 20), (F, 0, 0), (M, 1, 10), (F, 1, 0)]
    assert trace.alignment.tolist() == [64, 0, 0, 0]
    assert load_log(log(b"\nid,lower,upper,size\n0,1,2,3\n")).alignment is None


@pytest.mark.parametrize(
    ("title", "row", "reason"),
    [
        (b"id,lower,upper", b"a,1,2", "is in an unknown format"),
        (b"id,lower,upper,size,colour", b"a,1,2,3,4", "is in an unknown format"),
        (b"id,lower,start,upper,size", b"a,1,1,2,3", "is in an unknown format"),
        (b"id,lower,upper,size", b"a,1,2,3,4", "does not match the format"),
        (b"id,lower,upper,size,alignment", b"a,1,2,3,999999999999999", "alignment is above"),
    ],
)
def test_lifetimes_that_are_wrong(log, title, row, reason):
    with pytest.raises(TraceError, match=reason):
        load_log(log(title + b"\n" + row + b"\n"))
    with pytest.raises(TraceError, match="names of its columns"):
        load_log(log(b"id,lower,upper\na,1,2\n"), from_format="lifetimes")


def test_gaps_are_no_part_of_a_trace(log):
    path = log(b"id,lower,upper,size,gaps\na,0,9,4,\nb,1,9,4,2-3 5-7@1:2\nc,2,4,4,3-9\n")
    with pytest.raises(TraceError, match="line 3: the buffer has gaps, which a trace"):
        load_log(path)
    trace = load_log(path, lenient=True)
    assert trace.provenance["left_out"] == {"gaps of buffers": 2}
    assert trace.size[trace.op == M].tolist() == [4, 4, 4]


def table(log, text):
    with open_log(log(text)) as opened:
        return read_table(opened.log, *read_title(opened.log))


def test_the_uses_of_buffers_with_gaps(log):
    read = table(
        log,
        b"gaps,id,lower,end,size\n5-6@1:2 2-3,a,1,8,4\n,b,0,3,2\n0-3 7-9@0:1,c,2,7,3\n",
    )
    assert [tuple(use) for use in read.uses()] == [
        (0, 1, 2, 0, 4),
        (0, 3, 5, 0, 4),
        (0, 5, 6, 1, 2),
        (0, 6, 9, 0, 4),
        (1, 0, 4, 0, 2),
        (2, 3, 7, 0, 3),
        (2, 7, 8, 0, 1),
    ]


@pytest.mark.parametrize(
    ("gaps", "reason"),
    [
        (b"2", "'2' is not a gap; write BEGIN-END"),
        (b"3-2", "'3-2' is not a gap"),
        (b"2-3@3:3", "is not a gap"),
        (b"2-3@0:5", "is not a gap"),
        (b"2-3@1", "is not a gap"),
        (b"2-4 3-5", "gaps of the buffer overlap"),
        (b"0-3 3-9@1:2", "no time at which the whole buffer is in use"),
    ],
)
def test_gaps_that_are_wrong(log, gaps, reason):
    with pytest.raises(TraceError, match=f"line 2: .*{reason}"):
        table(log, b"id,lower,upper,size,gaps\na,0,9,4," + gaps + b"\n")


def entry(action, addr=0, size=0, stream=0, time_us=0):
    return {
        "action": action,
        "addr": addr,
        "size": size,
        "stream": stream,
        "time_us": time_us,
        "frames": [{"filename": "model.py", "line": 3, "name": "forward"}],
    }


SNAPSHOT = {
    "segments": [],
    "device_traces": [
        [],
        [
            entry("segment_alloc", 0x7F00, 1 << 21, 0, 1_700_000_000_000_000),
            entry("alloc", 0x7F00, 512, 0, 1_700_000_000_000_000),
            entry("alloc", 0x8F00, 1024, 0x55AA, 1_700_000_000_000_007),
            entry("free_requested", 0x7F00, 512, 0, 1_700_000_000_000_008),
            entry("free_completed", 0x7F00, 512, 0, 1_700_000_000_000_009),
            {"action": "oom", "size": 1 << 40, "device_free": 5, "stream": 0, "time_us": 3},
            entry("snapshot"),
        ],
    ],
}


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_snapshot_of_pytorch(log, protocol):
    trace = load_log(log(pickle.dumps(SNAPSHOT, protocol)))
    assert events(trace) == [(M, 0, 512), (M, 1, 1024), (F, 0, 0), (M, 2, 1 << 40)]
    assert trace.stream.tolist() == [0, 1, 0, 0]
    assert trace.time.tolist()[:3] == [0, 7000, 9000]
    assert trace.provenance == {
        "log": "log.txt",
        "format": "pytorch",
        "sites": ["", "forward (model.py:3)"],
        "device": {
            "number": 1,
            "settings": "",
            "live_at_start": {"objects": 0, "bytes": 0},
            "recorded": {
                "first_reserved_bytes": 0,
                "peak_reserved_bytes": 0,
                "final_reserved_bytes": 0,
                "segment_alloc": 1,
                "segment_map": 0,
                "segment_free": 0,
                "segment_unmap": 0,
                "oom": 1,
                "empty_cache": 0,
                "made_room": 0,
                "granted_bytes": 2 << 20,
                "device_bytes": 5,
                "total_bytes": 5,
            },
        },
    }
    assert trace.site.tolist() == [1, 1, 1, 0]


def test_names_in_a_snapshot_take_memory_in_proportion(log):
    """A text or a list that is stored once can be referenced many times."""
    huge, laughs = "\udc80" * 100_000, ["ha"]
    for _ in range(40):
        laughs = [laughs, laughs]
    frames = [
        [{"name": huge, "filename": laughs, "line": line}, *[{"line": laughs}] * 9]
        for line in range(5000)
    ]
    entries = [
        {**entry("alloc", 4096 * at, 1), "frames": each} for at, each in enumerate(frames, 1)
    ]
    trace = load_log(log(pickle.dumps({"device_traces": [entries]})))
    assert len(trace.provenance["sites"]) == 5001
    assert sum(map(len, trace.provenance["sites"])) < 8_000_000
    assert trace.provenance["sites"][7].startswith("\\udc80\\udc80")


class Malicious:
    """Object that creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


@pytest.mark.parametrize("place", ["whole", "entry", "frames"])
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_malicious_snapshot_runs_nothing(log, tmp_path, place, protocol):
    evil = Malicious(tmp_path / "evil")
    content = {
        "whole": evil,
        "entry": {"device_traces": [[evil]]},
        "frames": {"device_traces": [[{**entry("alloc", 1, 2), "frames": evil}]]},
    }[place]
    pickled = pickle.dumps(content, protocol)
    for lenient in (False, True):
        with pytest.raises(TraceError, match="contains only data"):
            load_log(log(pickled), lenient=lenient)
    assert not (tmp_path / "evil").exists()
    pickle.loads(pickled)
    assert (tmp_path / "evil").exists(), "the pickle is what it is meant to be"


@pytest.mark.parametrize(
    "code",
    [
        b"\x80\x02cos\nsystem\n(U\x04evil\x85R.",
        b"\x80\x02(U\x04evilios\nsystem\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04evil\x85R.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02U\x01xQ.",
        b"\x80\x02Px\n.",
        b"\x80\x02]K\x05\x81.",
        b"\x80\x05\x97.",
    ],
)
def test_no_opcode_names_a_thing(log, code):
    with pytest.raises(TraceError, match="cannot be read as a pickle of data"):
        load_log(log(code), from_format="pytorch")


def test_what_begins_otherwise_is_no_snapshot(log):
    with pytest.raises(TraceError, match="does not begin like a memory snapshot of PyTorch"):
        load_log(log(b"hello\n"), from_format="pytorch")


def test_a_snapshot_takes_memory_in_proportion(log):
    codes = [
        b"r\xff\xff\xff\xff",  # a memo of 2**32 entries
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x3f",  # claims an impossible number of bytes
        b"\x96\xff\xff\xff\xff\xff\xff\xff\x3f",
        b"\x96\x00\x00\x00\x20\x00\x00\x00\x00",  # 512 MB, which the limit allows
        b"\x8b\xff\xff\xff\x7f",
        b"\x95\xff\xff\xff\xff\xff\xff\xff\x3f",
    ]
    script = (
        "import resource, sys, tracemalloc\n"
        "from pathlib import Path\n"
        "from simalloc.trace.formats.importing import load_log\n"
        "taken = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + (1 << 30),) * 2); tracemalloc.start()\n"
        "for code in map(bytes.fromhex, sys.argv[2:]):\n"
        "    Path(sys.argv[1]).write_bytes(code); tracemalloc.reset_peak()\n"
        "    try: load_log(sys.argv[1], from_format='pytorch')\n"
        "    except Exception as error: print(type(error).__name__)\n"
        "    assert tracemalloc.get_traced_memory()[1] < 64 << 20, code\n"
    )
    command = [sys.executable, "-c", script, log(b"")]
    command += [(b"\x80\x05}" + code + b".").hex() for code in codes]
    result = subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE)
    assert result.stdout == b"TraceError\n" * len(codes), result.stderr


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        ([1, 2], "has no device_traces"),
        ({"device_traces": 5}, "has no device_traces"),
        ({"device_traces": [[]]}, "has no events"),
        ({"device_traces": [[5]]}, "an entry does not have the form"),
        ({"device_traces": [[{"action": ["alloc"]}]]}, "an entry does not have the form"),
        ({"device_traces": [[entry("alloc", -1, 5)]]}, "an entry does not have the form"),
        ({"device_traces": [[entry("alloc", 1, 2**70)]]}, "an entry does not have the form"),
        ({"device_traces": [[entry("alloc", 1, size=True)]]}, "an entry does not have the form"),
        ({"device_traces": [[entry("alloc", 1, 5)], [entry("alloc", 1, 5)]]}, "devices 0, 1"),
        (
            {"device_traces": [[entry("alloc", 1, 5)]], "segments": [5]},
            "has segments that do not have the form",
        ),
        (
            {"device_traces": [[entry("alloc", 1, 5)]], "segments": [{"total_size": 2**70}]},
            "has segments that do not have the form",
        ),
    ],
)
def test_what_is_wrong_with_a_snapshot(log, snapshot, words):
    with pytest.raises(TraceError, match=words):
        load_log(log(pickle.dumps(snapshot)))


def test_each_is_told_by_its_content(log):
    for name, content in {
        "johnstone-wilson": np.array(RECORDS, ">u8").tobytes(),
        "pytorch": pickle.dumps(SNAPSHOT),
        "memray": b"memray\0 and so on",
    }.items():
        with open_log(log(content)) as opened:
            assert opened.format.name == name
