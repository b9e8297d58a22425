"""Binary records of glibc-malloc-trace-utils."""

import numpy as np
import pytest

from simalloc.errors import TraceError
from simalloc.trace import Op
from simalloc.trace.formats.importing import load_log

M, C, F, R = Op.MALLOC, Op.CALLOC, Op.FREE, Op.REALLOC
MARK = (0, 255, 0x1234, 0, 8, 0)
CACHED, MAPPED = 1 << 8, 1 << 12


def record(thread, call, old, new, size, alignment=0):
    words = np.array([old, new, size, alignment, 0, 0, 0], "<u8").tobytes()
    return np.array([thread, call], "<u4").tobytes() + words


@pytest.fixture
def load(tmp_path):
    def load_records(*records, cut=0, **options):
        content = b"".join(record(*each) for each in records)
        (tmp_path / "log").write_bytes(content[: len(content) - cut])
        return load_log(tmp_path / "log", **options)

    return load_records


def test_every_call(load):
    trace = load(
        MARK,
        (70, 1 | CACHED, 0, 0x10, 24),
        (71, 2, 0, 0x20, 40),
        (71, 4, 0x20, 0x30, 80),
        (70, 4, 0, 0x40, 8),
        (70, 3 | CACHED, 0x10, 0, 0),
        (70, 5, 0, 0x100, 9, 64),
        (70, 8, 0, 0x200, 9, 128),
        (70, 6 | MAPPED, 0, 0x1000, 5),
        (70, 7, 0, 0x2000, 5),
        (71, 4, 0x30, 0, 0),
        (71, 3, 0, 0, 0),
        (71, 1, 0, 0, 1 << 40),
        (0, 0, 0, 0, 0),
    )
    assert trace.op.tolist() == [M, C, R, M, F, M, M, M, M, F]
    assert trace.object.tolist() == [0, 1, 1, 2, 0, 3, 4, 5, 6, 1]
    assert trace.size.tolist() == [24, 40, 80, 8, 0, 9, 9, 5, 4096, 0]
    assert trace.thread.tolist() == [0, 1, 1, 0, 0, 0, 0, 0, 0, 1]
    assert trace.alignment.tolist() == [0, 0, 0, 0, 0, 64, 128, 4096, 4096, 0]
    assert trace.provenance["paths"] == {"thread_cache": 2, "mmap": 1}
    assert trace.provenance["left_out"] == {"allocations that failed": 1}


def test_what_is_wrong(load):
    with pytest.raises(TraceError, match="call 77"):
        load(MARK, (1, 77, 0, 0x10, 24))
    with pytest.raises(TraceError, match="cut off"):
        load(MARK, (1, 1, 0, 0x10, 24), cut=5)
    with pytest.raises(TraceError, match="does not begin with the mark"):
        load((1, 1, 0, 0x10, 24), from_format="glibc-trace")
    assert len(load(MARK, (1, 77, 0, 0x10, 24), (1, 1, 0, 0x10, 24), lenient=True)) == 1


@pytest.mark.parametrize("alignment", [1 << 62, (1 << 64) - 4096, (1 << 47) + 1])
def test_alignments_that_no_memory_has(load, alignment):
    records = (MARK, (1, 1, 0, 0x10, 24), (1, 5, 0, 0x40, 24, alignment))
    with pytest.raises(TraceError, match="record 3 requests an alignment of"):
        load(*records)
    trace = load(*records, lenient=True)
    assert trace.size.tolist() == [24]
    assert trace.provenance["left_out"] == {"alignments out of range": 1}
