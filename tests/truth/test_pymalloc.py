"""The model of Python's allocator compared with CPython's (tests/data/mallocs/pymalloc)."""

from pathlib import Path

import pytest
import zstandard

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.heap import Request
from simalloc.heap.reference.space import Residence
from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import Watched
from simalloc.policy import find_policy
from simalloc.trace import Op
from simalloc.trace.catalogue import open_source

DATA = Path(__file__).parents[1] / "data" / "mallocs" / "pymalloc"

CASES = [
    ("mixed", "3.8", "version=3.8"),
    ("realloc", "3.8", "version=3.8"),
    ("pins", "3.8", "version=3.8"),
    ("pins", "3.9", "version=3.9"),
    ("mixed", "skewed", "arena_skew=4096"),
    ("realloc", "skewed", "arena_skew=4096"),
    ("pins", "skewed", "arena_skew=4096"),
    ("pins", "3.11", "version=3.11"),
]


def lines(trace, name):
    packed = (DATA / f"{trace}.{name}.out.zst").read_bytes()
    text = zstandard.ZstdDecompressor().decompressobj().decompress(packed).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("below", ["ptmalloc", "scudo"])
@pytest.mark.parametrize(("trace", "name", "options"), CASES)
def test_every_block_lies_where_python_has_it(trace, name, options, below):
    source = open_source(DATA / f"{trace}.txt.zst")
    setting = Setting.of(source, f"pymalloc:below={below},{options}")
    description = setting.policy.description
    places = [
        "f" if offset < 0 else description.spell_location(int(region), int(number), int(offset))
        for sight in Watched(setting).sights()
        for region, number, offset in zip(sight.region, sight.number, sight.offset, strict=True)
    ]
    assert places == [line for line in lines(trace, name) if line[0] not in "=~"]


def test_pages_and_arenas_are_those_of_python():
    trace = open_source(DATA / "mixed.txt.zst").in_memory()
    description = find_policy("pymalloc").description
    heap = heap_for(description)
    heap.front, heap.below.front = heap, heap.below
    heap.blocks.residence = Residence(4096)
    where, found = {}, []
    columns = zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True)
    for event, (op, number, size) in enumerate(columns, 1):
        heap.request = Request(size)
        if op == Op.FREE:
            heap.free(where.pop(number))
        else:
            asked = max(size, 1)
            is_new = op == Op.MALLOC
            address = heap.malloc(asked) if is_new else heap.reallocate(where[number], asked)
            where[number] = address
            heap.touch(address + description.payload, size)
        if event % 10 == 0:
            resident = sum(heap.resident_in(arena.base, 1 << 20) for arena in heap.arenas)
            found.append(resident // 4096)
    expected = [int(line.split()[1]) for line in lines("mixed", "3.11") if line[0] == "~"]
    assert found == expected
