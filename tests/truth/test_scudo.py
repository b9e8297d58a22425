"""The model of Scudo compared with the library's results (tests/data/mallocs/scudo)."""

from pathlib import Path

import pytest
import zstandard

from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import Watched
from simalloc.trace.catalogue import open_source

DATA = Path(__file__).parents[1] / "data" / "mallocs" / "scudo"

CLOCK = "scudo:tick=1000000"
CASES = [
    ("growth", "growth", CLOCK),
    ("growth", "growth.android", f"{CLOCK},config=android"),
    ("sawtooth", "sawtooth.interval_0", f"{CLOCK},release_to_os_interval_ms=0"),
    ("threads", "threads", CLOCK),
    ("threads", "threads.android", f"{CLOCK},config=android"),
]


def expected_rows(name):
    """Yield the library's values by column for each event, as text."""
    packed = (DATA / f"{name}.csv.zst").read_bytes()
    head, *rows = zstandard.ZstdDecompressor().decompressobj().decompress(packed).splitlines()
    columns = head.decode().split(",")
    for row in rows:
        if not row.startswith(b"#"):
            yield dict(zip(columns, row.decode().split(","), strict=False))


def rows(trace, policy):
    """Yield the model's values by column for each event, as text."""
    setting = Setting.of(open_source(DATA / f"{trace}.txt.zst"), policy, resident=True)
    watched = Watched(setting)
    description = setting.policy.description
    columns = description.figure_columns(watched.names)
    for sight in watched.sights():
        for place, offset in enumerate(sight.offset):
            location = (int(sight.region[place]), int(sight.number[place]), int(offset))
            figures = dict(zip(watched.names, sight.figures[place].tolist(), strict=True))
            reported = description.spell_figures(figures, None)
            yield {
                "address": "-" if offset < 0 else description.spell_location(*location),
                "mapped": int(sight.mapped[place]),
                "resident": int(sight.resident[place]),
                **dict(zip(columns, map(str, reported), strict=True)),
            }


@pytest.mark.parametrize(("trace", "name", "policy"), CASES, ids=[name for _, name, _ in CASES])
def test_every_address_and_figure_is_the_library_s(trace, name, policy):
    for found, expected in zip(rows(trace, policy), expected_rows(name), strict=True):
        assert found | expected == found | {"event": expected["event"]}
        if "mapped_primary" in expected:
            parts = int(expected["mapped_primary"]) + int(expected["mapped_secondary"])
            pages = int(expected["resident_primary"]) + int(expected["resident_secondary"])
            assert (found["mapped"], found["resident"]) == (parts, pages * 4096)
