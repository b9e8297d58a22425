"""Files of memray, which its own reader reads in a separate process."""

import signal
import subprocess
import sys

import pytest
from patience import PATIENCE

from simalloc.errors import TraceError
from simalloc.trace import Op
from simalloc.trace.formats.importing import import_log, load_log
from simalloc.trace.formats.memray import CHILD
from simalloc.trace.sites import site_name

PROGRAM = """
import json
kept = [json.loads('{"a": [1, 2, 3]}') for _ in range(50)]
block = bytearray(10_000)
block.extend(bytes(90_000))
del block
"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Return a function that runs a program under memray and returns the file's path."""
    pytest.importorskip("memray")
    folder = tmp_path_factory.mktemp("memray")
    (folder / "program.py").write_text(PROGRAM)

    def capture(*options):
        path = folder / "-".join(("file", *options))
        if not path.exists():
            memray = [sys.executable, "-m", "memray", "run", "-q", *options, "-o", path]
            subprocess.run([*memray, "program.py"], cwd=folder, check=True, timeout=PATIENCE)
        return path

    return capture


def test_a_file_of_memray(captured, tmp_path):
    path = captured()
    imported = import_log(path, tmp_path / "trace.npz")
    trace = load_log(path)
    assert imported.format.name == "memray"
    assert len(trace) == imported.totals.events > 50
    assert {10_001, 100_001} & set(trace.size.tolist())
    assert (trace.site[trace.op == Op.FREE] == 0).all()
    assert trace.site.max() > 1
    (block,) = trace.site[trace.size == 10_001]
    assert site_name(trace.provenance, int(block)).startswith("<module> (program.py:4) < ")


def test_what_python_itself_allocates(captured):
    plain = load_log(captured())
    inside = load_log(captured("--trace-python-allocators"), lenient=True)
    assert len(inside) > 2 * len(plain)


def test_a_file_of_totals_is_refused(captured):
    with pytest.raises(TraceError, match="record again without --aggregate"):
        load_log(captured("--aggregate"))


def test_what_begins_otherwise_is_not_given_to_memray(log):
    pytest.importorskip("memray")
    with pytest.raises(TraceError, match="does not begin like a file of memray"):
        load_log(log(bytes(100)), from_format="memray")


def test_a_file_that_memray_refuses(captured, log):
    content = captured().read_bytes()
    for length in (40, len(content) // 2):
        with pytest.raises(TraceError, match="memray cannot read it"):
            load_log(log(content[:length]))


def test_a_record_that_memrays_reader_does_not_know_is_not_the_end(captured, log):
    path = captured("--no-compress")
    content = path.read_bytes().rstrip(b"\0")
    damaged = log(content[:-200] + b"\xff" * 200)
    with pytest.raises(TraceError, match="stops before the end of the file: Memray ERROR"):
        load_log(damaged)
    read = load_log(damaged, lenient=True)
    assert read.provenance["left_out"]["ends of damaged files"] == 1
    assert 0 < len(read) < len(load_log(path))


STUB = """
import runpy, sys, types
class FileReader:
    metadata = types.SimpleNamespace(total_frames={frames}, has_native_traces=False)
    def __init__(self, path): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def get_allocation_records(self): return {records}
sys.modules["memray"] = types.SimpleNamespace(FileReader=FileReader)
write_records = runpy.run_path({child!r})["write_records"]
write_records.__globals__["SECONDS"] = {seconds}
write_records({file!r}, sys.stdout, 5)
"""


@pytest.mark.parametrize(
    ("frames", "records", "seconds", "code", "said"),
    [
        (0, "iter(())", PATIENCE, 0, b""),
        (0, "iter([bytearray(1 << 28)])", PATIENCE, 1, b"MemoryError"),
        (1 << 40, "iter(())", PATIENCE, 1, b"more frames than its size allows"),
        (0, "filter(None, iter(int, 1))", 0.2, -signal.SIGPROF, b""),
    ],
)
def test_a_reader_is_limited_in_memory_and_time(log, frames, records, seconds, code, said):
    files = {"child": str(CHILD), "file": str(log(b"x"))}
    stub = STUB.format(frames=frames, records=records, seconds=seconds, **files)
    command = [sys.executable, "-I", "-c", stub]
    done = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
    assert done.returncode == code
    assert said in done.stderr


def test_memray_may_be_missing(log, monkeypatch):
    monkeypatch.setattr("simalloc.trace.formats.memray.find_spec", lambda _: None)
    with pytest.raises(TraceError, match=r"simalloc\[memray\]"):
        load_log(log(b"memray\0 and so on"))
