"""Programs with a known correct advice, run with the advised settings."""

import shutil
from statistics import median

import pytest

from experiments.advice.measuring import advised, built
from experiments.advice.page import page, tables
from simalloc.heap.real import installed

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

THERE = {allocator.name for allocator in installed()}
STACKS = 512 << 10
"""Upper bound, in bytes, of threads' stacks and a malloc's initial memory."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.advice.measuring.TIMES", 3)
        return {name: advised(built(name, folder)) for name in ("idle", "kept")}


def test_idle_threads_hold_less_with_the_line_that_is_advised(found):
    rows = {row.name: row for row in found["idle"].rows}
    (best,) = [row for row in rows.values() if row.advised]
    assert median(best.held) < median(rows["glibc"].held) / 3
    assert median(best.held) == pytest.approx(best.predicted, rel=0.1, abs=STACKS)


def test_where_there_is_nothing_to_gain_nothing_is_advised(found):
    assert found["kept"].advice.line == ""
    assert found["kept"].advice.text.startswith("No change recommended: ")


@pytest.mark.parametrize("name", ["glibc", "glibc:arena_max=2", "jemalloc", "mimalloc"])
def test_a_process_holds_what_is_predicted(found, name):
    if name.partition(":")[0] not in THERE:
        pytest.skip(f"{name} is not installed")
    row = next(row for row in found["kept"].rows if row.name == name)
    assert median(row.held) == pytest.approx(row.predicted, rel=0.1, abs=STACKS)


def test_the_page_is_made_of_what_was_found(found):
    shown = tables(list(found.values()))
    assert len(shown["held"].rows) == sum(len(one.rows) for one in found.values())
    assert "predicted" in page(list(found.values()), shown)
