"""Logs in zip archives."""

import gzip
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from simalloc.errors import TraceError
from simalloc.trace import Trace, write_trace
from simalloc.trace.events import Op
from simalloc.trace.formats.importing import load_log

M = Op.MALLOC


def zipped(path, **files):
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_a_zip_archive_with_one_log_in_it(tmp_path):
    text = "m 0 8\n" * 1 + "".join(f"m {n} {n}\n" for n in range(1, 300_000))
    path = zipped(tmp_path / "log.zip", **{"__MACOSX/x": "", "folder/": "", "folder/log.txt": text})
    trace = load_log(path)
    assert len(trace) == 300_000
    inner = gzip.compress(text.encode())
    assert load_log(zipped(tmp_path / "inner.zip", **{"log.txt.gz": inner})) == trace


def test_other_zip_archives(tmp_path):
    with pytest.raises(TraceError, match="zip archive of 2 files; unpack it"):
        load_log(zipped(tmp_path / "two.zip", a="m 0 8\n", b="m 0 8\n"))
    path = zipped(tmp_path / "damaged.zip", a="m 0 8\n" * 1000)
    content = bytearray(path.read_bytes())
    content[40] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"cannot be (?:read|decompressed)|no format"):
        load_log(path)


def test_a_trace_needs_no_import(tmp_path):
    trace = Trace.from_events([M], [0], [8])
    write_trace(trace, tmp_path / "t.npz")
    with pytest.raises(TraceError, match="is a trace of simalloc and needs no import"):
        load_log(tmp_path / "t.npz")
