"""Round trips through every format that can be written."""

import pytest
from hypothesis import HealthCheck, given, settings
from made_traces import traces

from simalloc.trace import Op, Trace, write_trace
from simalloc.trace.formats.exporting import export_trace
from simalloc.trace.formats.importing import load_log


def there_and_back(trace, folder, name):
    write_trace(trace, folder / "trace.npz")
    export_trace(folder / "trace.npz", folder / "log", name)
    return load_log(folder / "log", from_format=name)


@pytest.mark.parametrize("name", ["text", "rep"])
@given(trace=traces())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_with_reallocs_nothing_is_lost(name, trace, tmp_path):
    assert there_and_back(trace, tmp_path, name).sha256() == trace.sha256()


@given(trace=traces())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_gabbers_text_has_a_free_and_an_allocate_for_each_realloc(trace, tmp_path):
    op, key, size = [], [], []
    for each in zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True):
        for kind in (Op.FREE, Op.MALLOC) if each[0] == Op.REALLOC else (each[0],):
            op.append(kind)
            key.append(each[1])
            size.append(each[2])
    expected = Trace.from_events(op, key, size) if op else trace
    if op:
        assert there_and_back(trace, tmp_path, "gabber").sha256() == expected.sha256()


def test_what_a_rep_file_says_first(tmp_path):
    trace = Trace.from_events([0, 0, 2, 1], [5, 6, 5, 6], [10, 20, 30, 0])
    write_trace(trace, tmp_path / "trace.npz")
    export_trace(tmp_path / "trace.npz", tmp_path / "log.rep", "rep")
    assert (tmp_path / "log.rep").read_text() == "50\n2\n4\n1\na 0 10\na 1 20\nr 0 30\nf 1\n"
