"""The provenance of an untrusted trace is checked when the trace is read, written or made."""

import io
import json
import zipfile

import numpy as np
import pytest
from command import simalloc

from simalloc.errors import TraceError
from simalloc.trace import Trace, TraceReader, open_trace, write_trace
from simalloc.trace.provenance import check_provenance

STACKS = {"places": [[], [["main", "a.c", 3]]], "parent": [0, 0], "place": [0, 1]}
VALID = {
    "program": "p",
    "command": ["p", "-v"],
    "seed": -(2**80),
    "cores": 4,
    "cpu_quota": 1.5,
    "process": 7,
    "heap_at_start": "t.heap.npz",
    "resident": [[1, 5, 4096, 8192]],
    "stacks": STACKS,
    "sites": ["", "main"],
    "device": {"settings": "", "recorded": {"total_bytes": 5}},
    "mine": [{"anything": None}],
}
WRONG = {
    "resident": ["abc", [[1, 2, None]], [1, 2, [3]], [[1e30, 2, 3, 4]], [[2**64 - 1, 2, 3, 4]],
                 [[1, 2, 3]], [[-1, 2, 3, 4]], {"a": 1}, None],
    "stacks": [7, [], {"places": []}, STACKS | {"parent": [0, 1]}, STACKS | {"place": [0, 2]},
               STACKS | {"parent": [0, -1]}, STACKS | {"place": [0]},
               STACKS | {"places": [[], [["main", "a.c"]]]},
               STACKS | {"places": [[], [["main", 3, "a.c"]]]}],
    "sites": ["abc", [1], {"1": "main"}],
    "cores": ["4", 1.5, -1, True, None, 2**63],
    "page": ["4K"],
    "every": [[], -5],
    "process": ["abc", [7]],
    "cpu_quota": ["1", float("nan"), -1.0],
    "cpu_seconds": ["1", float("inf")],
    "seed": ["1", 1.5],
    "command": ["p -v", [1]],
    "program": [1],
    "malloc": [["glibc"]],
    "executable": [0],
    "started": [20261126],
    "heap_at_start": [7, "", "..", "/etc/passwd", "a/b", "a\0b"],
    "device": [1, {"settings": {}}, {"recorded": {"total_bytes": "5"}},
               {"start": {"addresses": [0], "segments": [[1]]}}, {"start": [1]}],
}  # fmt: skip
PAIRS = [(key, value) for key, values in WRONG.items() for value in values]


def altered(path, provenance):
    """Write another provenance into the header of a trace file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes())
    header["provenance"] |= provenance
    content = io.BytesIO()
    np.save(content, np.frombuffer(json.dumps(header).encode(), np.uint8))
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in (members | {"header.npy": content.getvalue()}).items():
            archive.writestr(name, member)


def test_what_simalloc_writes_is_valid(tmp_path):
    trace = Trace.from_events([0], [0], [8], provenance=VALID)
    write_trace(trace, tmp_path / "t.npz")
    assert open_trace(tmp_path / "t.npz").provenance == VALID


@pytest.mark.parametrize(("key", "value"), PAIRS)
def test_what_cannot_be_read_is_an_error(key, value):
    with pytest.raises(TraceError, match=f"its provenance is not valid: '{key}' must be "):
        check_provenance(VALID | {key: value})


def test_no_trace_is_read_or_made_with_it(tmp_path):
    wrong = {"resident": "abc"}
    with pytest.raises(TraceError, match="'resident' must be a list of samples"):
        Trace.from_events([0], [0], [8], provenance=wrong)
    path = tmp_path / "t.npz"
    write_trace(Trace.from_events([0], [0], [8]), path)
    altered(path, wrong)
    with pytest.raises(TraceError, match="'resident' must be"), TraceReader(path):
        pass
    for words in (("info",), ("settings",), ("report", "-o", tmp_path / "page.html")):
        done = simalloc(words[0], path, *words[1:])
        assert done.exit_code == 2
        assert "its provenance is not valid: 'resident' must be a list" in done.stderr
