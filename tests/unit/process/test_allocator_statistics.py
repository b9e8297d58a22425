"""Allocators' statistics in files; the files in `data/` describe one program (see its README)."""

import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
from process_programs import running

from simalloc.errors import SimallocError
from simalloc.process import LiveProcess, take_snapshot
from simalloc.process.statistics import read_statistics
from simalloc.report import write_table
from simalloc.report.snapshot import statistics_tables

DATA = Path(__file__).parent / "data"


def test_malloc_info_of_a_process_is_what_its_snapshot_says(compiled, tmp_path):
    path = tmp_path / "malloc_info.xml"
    with running(compiled("blocks"), "threads") as target:
        snapshot = take_snapshot(LiveProcess(target.process))
    path.write_text(f"a line of the program\n{target.xml}")
    statistics = read_statistics(path)
    arenas = [part for part in snapshot.parts if part.name != "mapped"]
    assert [arena.bytes for arena in statistics.arenas] == [part.bytes for part in arenas]
    for arena, part in zip(statistics.arenas, arenas, strict=True):
        assert arena.top == part.top
        assert arena.free == part.bins + part.fastbin
        assert arena.used == part.live + part.headers + part.tables + part.tcache + part.holes
    free = sum(one.free for one in statistics.classes)
    blocks = sum(one.free_blocks for one in statistics.classes)
    assert free == sum(part.bins + part.fastbin for part in arenas)
    assert blocks == snapshot.count("bin") + snapshot.count("fastbin")


def test_jemalloc():
    statistics = read_statistics(DATA / "jemalloc-5.3.0.json")
    assert statistics.system == 10_313_728
    assert dict(statistics.named)["in thread caches"] == 654_640
    (arena,) = statistics.arenas
    assert arena.bytes == 4_014_080
    assert sum(one.used for one in statistics.classes) == arena.used
    first = statistics.classes[0]
    assert (first.size, first.used_blocks, first.free_blocks) == ("768", 448, 192)


def test_figures_of_different_moments_are_not_negative(tmp_path):
    report = json.loads((DATA / "jemalloc-5.3.0.json").read_text())
    report["jemalloc"]["stats"] |= {"allocated": 100, "active": 50}
    arenas = report["jemalloc"]["stats.arenas"]
    merged = arenas.get("merged") or next(iter(arenas.values()))
    merged["bins"][0]["curregs"] = 10**6
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    statistics = read_statistics(path)
    assert min(size for _, size in statistics.named) == 0
    assert min(one.free for one in statistics.classes) == 0


def test_tcmalloc():
    statistics = read_statistics(DATA / "gperftools-2.10.txt")
    assert statistics.system == 6_815_744 == sum(size for _, size in statistics.named)
    assert statistics.named[0] == ("in use by application", 2_398_328)
    first = statistics.classes[0]
    assert (first.size, first.free_blocks, first.free) == ("20,480", 12, 245_760)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "neither a core file"),
        ("hello", "neither a core file"),
        ("<malloc version='1'>", "ends early"),
        ("<malloc version='1'></malloc>", "no heap"),
        ("<malloc><heap nr='0'><sizes></heap></malloc>", "line 1: not XML"),
        (
            "<malloc><heap><total type='fast' count='x' size='1'/></heap></malloc>",
            "line 1: not written by malloc_info",
        ),
        (
            "<malloc><heap><total type='fast'/></heap></malloc>",
            "line 1: not written by malloc_info",
        ),
        ("<malloc [<!ENTITY a 'b'>]>&a;</malloc>", "not XML"),
        ("{", "line 1: not JSON"),
        ("{}", "not the output of malloc_stats_print"),
        ("[" * 100000, "neither a core file"),
        ('{"jemalloc": ' + "[" * 100000, "nested too deeply|not JSON"),
        ('{"jemalloc": {"stats": 3}}', "not the output of malloc_stats_print"),
        ("MALLOC: 12 of nothing", "no line"),
    ],
)
def test_what_is_no_statistics_is_refused(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(SimallocError, match=message):
        read_statistics(path)


def places_of(value, path=()):
    """Yield a path to each number in a JSON value, with one path for all items of a list."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places_of(each, (*path, key))
    elif isinstance(value, list):
        if value:
            yield from places_of(value[0], (*path, 0))
    elif isinstance(value, int | float):
        yield path


@pytest.mark.parametrize("odd", ["Infinity", "-1e999", "NaN", '"x"', "null", "[]", "9" * 4000])
def test_odd_figures_of_jemalloc_are_shown_or_refused(tmp_path, odd):
    text = (DATA / "jemalloc-5.3.0.json").read_text()
    path = tmp_path / "report.json"
    read = 0
    for place in places_of(json.loads(text)):
        report = json.loads(text)
        *way, last = place
        part = report
        for key in way:
            part = part[key]
        part[last] = "ODD"
        path.write_text(json.dumps(report).replace('"ODD"', odd))
        with suppress(SimallocError):
            table_of_text(read_statistics(path))
            read += 1
    assert read


def table_of_text(statistics):
    """Print the statistics in the format of `simalloc snapshot`."""
    for table in statistics_tables(statistics):
        write_table(table, "table", io.StringIO())


@pytest.mark.parametrize(
    "content",
    [
        '{"jemalloc": {"stats": {"mapped": 1}, "stats.arenas": {}}}',
        f"MALLOC: {'9' * 5000} (0.0 MiB) Bytes in use by application",
        "<malloc><heap nr='0'><system type='current' size='" + "9" * 4300 + "'/></heap></malloc>",
    ],
)
def test_figures_beyond_any_machine_are_refused(tmp_path, content):
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(SimallocError):
        read_statistics(path)


def test_entities_are_not_expanded(tmp_path):
    path = tmp_path / "file"
    path.write_text("<malloc/><!DOCTYPE malloc [<!ENTITY a 'b'>]><malloc>&a;</malloc>")
    with pytest.raises(SimallocError, match=r"not XML|no document type"):
        read_statistics(path)
