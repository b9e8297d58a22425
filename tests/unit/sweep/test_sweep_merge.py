"""Files of results, merged and rescued from damage."""

from dataclasses import replace

import pytest

from simalloc.errors import ResultsError
from simalloc.sweep import Results, carry_out_plan, merge
from simalloc.sweep.shard import Shard
from simalloc.sweep.store import Store
from simalloc.sweep.task import carry_out


def stripped(results):
    changing = ("id", "finished", "seconds", "host")
    return [{name: row[name] for name in row if name not in changing} for row in results]


def test_shards_merged_are_the_whole(plan, tmp_path):
    carry_out_plan(plan, tmp_path / "whole.sqlite")
    parts = [tmp_path / f"part-{index}.sqlite" for index in (1, 2, 3)]
    for index, part in enumerate(parts, 1):
        carry_out_plan(plan, part, shard=Shard(index, 3))
    merged = merge(parts, tmp_path / "merged.sqlite")
    assert (merged.new, merged.present, merged.lost) == (12, 0, 0)
    whole, together = (Results.read(tmp_path / f"{name}.sqlite") for name in ("whole", "merged"))
    assert stripped(together) == stripped(whole)
    assert merge([*parts, *parts], tmp_path / "merged.sqlite").new == 0
    assert carry_out_plan(plan, tmp_path / "merged.sqlite").done == 0


def test_timelines_come_along(plan, tmp_path):
    carry_out_plan(replace(plan, timelines=True), tmp_path / "a.sqlite")
    merge([tmp_path / "a.sqlite"], tmp_path / "b.sqlite")
    with Store(tmp_path / "b.sqlite") as store:
        assert store.missing(replace(plan, timelines=True).tasks()) == []


def test_files_that_disagree_are_refused_whole(plan, tmp_path):
    outcome = carry_out(plan.tasks()[0], plan.sources[0].load())
    for name, peak in (("a", 1.0), ("b", 2.0)):
        with Store(tmp_path / f"{name}.sqlite", create=True) as store:
            store.add([replace(outcome, row={**outcome.row, "peak_heap_bytes": peak})])
    with pytest.raises(
        ResultsError, match=r"b.sqlite: its run of first-fit-ao .* nothing was merged"
    ):
        merge([tmp_path / "a.sqlite", tmp_path / "b.sqlite"], tmp_path / "c.sqlite")
    assert not (tmp_path / "c.sqlite").exists()


def test_a_file_that_was_there_stays(plan, tmp_path):
    outcome = carry_out(plan.tasks()[0], plan.sources[0].load())
    for name, peak in (("a", 1.0), ("b", 2.0)):
        with Store(tmp_path / f"{name}.sqlite", create=True) as store:
            store.add([replace(outcome, row={**outcome.row, "peak_heap_bytes": peak})])
    with pytest.raises(ResultsError, match="nothing was merged"):
        merge([tmp_path / "a.sqlite"], tmp_path / "b.sqlite")
    assert len(Results.read(tmp_path / "b.sqlite")) == 1


def test_a_file_is_not_merged_into_itself(results):
    Store(results, create=True).__exit__()
    with pytest.raises(ResultsError, match="into itself"):
        merge([results], results)


@pytest.fixture
def many(plan, results):
    """Return a file of 400 runs over many pages, and its outcomes."""
    first = carry_out(plan.tasks()[0], plan.sources[0].load())
    outcomes = [
        replace(first, key=key, row={**first.row, **key._asdict()})
        for scale in range(400)
        for key in [first.key._replace(scale=scale)]
    ]
    with Store(results, create=True) as store:
        store.add(outcomes)
    return outcomes


def test_a_damaged_page_takes_only_its_own_rows_with_it(many, results, tmp_path):
    content = bytearray(results.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    results.write_bytes(content)
    with pytest.raises(ResultsError, match="is damaged"):
        merge([results], tmp_path / "saved.sqlite")
    merged = merge([results], tmp_path / "saved.sqlite", damaged=True)
    assert 350 <= merged.new < 400
    expected = {outcome.key: outcome.row for outcome in many}
    for row in Results.read(tmp_path / "saved.sqlite"):
        key = type(many[0].key)(*(row[name] for name in type(many[0].key)._fields))
        assert {name: row[name] for name in expected[key]} == expected[key]


def test_half_a_file_is_half_saved(many, results, tmp_path):
    content = results.read_bytes()
    results.write_bytes(content[: len(content) // 2 // 4096 * 4096])
    merged = merge([results], tmp_path / "saved.sqlite", damaged=True)
    assert 0 < merged.new < len(many)
    assert merged.lost > 0


def test_a_file_without_a_beginning_is_refused(many, results, tmp_path):
    del many
    results.write_bytes(bytes(4096) + results.read_bytes()[4096:])
    with pytest.raises(ResultsError):
        merge([results], tmp_path / "saved.sqlite", damaged=True)
