"""No input crashes or hangs an importer, or makes it use excessive memory: a short fuzzing run.

`python tests/fuzz/run.py` makes a long run; tests/README.md lists the figures.
"""

import shutil

import file_inputs
import heap_inputs
import inputs
import memray_inputs
import pytest
import results_inputs
import settings_inputs
from hypothesis import given
from hypothesis import strategies as st

INPUTS = 300
names = pytest.mark.parametrize("name", list(inputs.IMPORTS))


@pytest.fixture(autouse=True)
def quick_memray(request):
    """Read files of memray through a server, for speed."""
    if request.node.callspec.params["name"] != "memray":
        yield
        return
    pytest.importorskip("memray")
    with memray_inputs.served():
        yield


@names
def test_samples_are_valid(name):
    assert inputs.samples(name)
    read = [inputs.read(name, sample, lenient=True) for sample in inputs.samples(name)]
    assert any(trace is not None and len(trace) for trace in read)


@names
def test_mutated_logs(name):
    for number in range(INPUTS):
        inputs.check(name, number)


@pytest.mark.parametrize("name", [name for name in inputs.IMPORTS if name != "memray"])
@given(content=st.binary(min_size=1, max_size=200))
def test_random_bytes(name, content):
    for lenient in (False, True):
        inputs.read(name, content, lenient=lenient)


@pytest.mark.parametrize("name", list(settings_inputs.CHECKS))
def test_mutated_plans_and_patterns(name):
    for number in range(INPUTS // 3):
        settings_inputs.CHECKS[name](number)


@pytest.mark.parametrize("name", list(file_inputs.CHECKS))
def test_mutated_traces_and_recordings(name):
    for number in range(INPUTS // 3):
        file_inputs.CHECKS[name](number)


@pytest.mark.parametrize("name", list(heap_inputs.CHECKS))
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_mutated_heaps_of_processes(name):
    for number in range(INPUTS // 20):
        heap_inputs.CHECKS[name](number)


@pytest.mark.parametrize("name", list(results_inputs.CHECKS))
def test_mutated_results(name):
    for number in range(INPUTS // 10):
        results_inputs.CHECKS[name](number)
