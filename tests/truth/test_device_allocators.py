"""Both engines compared with the real compiled allocators (tests/data/device/README.md)."""

import gzip
from functools import partial
from pathlib import Path

import pytest

from simalloc.heap.watch.device_replay import replay_device
from simalloc.heap.watch.each_event import REFUSED
from simalloc.measure import what_if
from simalloc.policy import find_policy
from simalloc.trace import Op, Trace
from simalloc.trace.formats.importing import load_log

replay_in_reference = partial(replay_device, engine="reference")
DATA = Path(__file__).parents[1] / "data" / "device"
SNAPSHOTS = sorted(DATA.glob("*.pickle.gz"))
STATISTICS = [
    *(
        f"{name}.{pool}.{when}"
        for name in (
            *("requested_bytes", "allocated_bytes", "active_bytes", "reserved_bytes"),
            *("segment", "inactive_split_bytes"),
        )
        for pool in ("all", "small_pool", "large_pool")
        for when in ("current", "peak")
    ),
    *(
        f"oversize_{name}.{when}"
        for name in ("allocations", "segments")
        for when in ("current", "peak")
    ),
]
GRANULE = 2 << 20
OPS = {"m": Op.MALLOC, "f": Op.FREE, "u": Op.USE, "e": Op.EMPTY}


class Program:
    """A program, and the real allocator's results for it."""

    def __init__(self, begin):
        _, capacity, *self.given = begin.split(maxsplit=3)
        self.capacity = int(capacity)
        self.events, self.addresses, self.calls, self.statistics = [], [], [], []

    def add(self, line):
        kind, *numbers = line.split()
        if kind == "s":
            self.statistics = [int(each) for each in numbers]
        elif kind in "+-":
            address, size = (int(each) for each in numbers)
            self.calls.append([len(self.events) - 1, address, size if kind == "+" else -size])
        else:
            *numbers, address = (*numbers, "") if kind != "m" else numbers
            key, size, stream = (*map(int, numbers), *[0] * 3)[:3]
            if kind == "u":
                size, stream = 0, size
            self.events.append((OPS[kind], key if kind != "e" else -1, size, stream))
            refused = REFUSED if kind == "m" else -1
            self.addresses.append(int(address) if address.isdecimal() else refused)

    def granted(self):
        """Return the calls with sizes as the device grants them."""
        return [
            [event, at, -(-size // GRANULE) * GRANULE if size > 0 else size // GRANULE * GRANULE]
            for event, at, size in self.calls
        ]

    def replayed(self, engine, name, **given):
        op, key, size, stream = zip(*self.events, strict=True)
        trace = Trace.from_events(op, key, size, stream=stream)
        return engine(
            trace, find_policy(name, capacity=self.capacity, **given).description, goes_on=True
        )


def programs(name):
    found = []
    for line in gzip.decompress((DATA / name).read_bytes()).decode().splitlines():
        if line.startswith("p "):
            found.append(Program(line))
        else:
            found[-1].add(line)
    return [pytest.param(each, id=f"{i}-{each.given[-1]}") for i, each in enumerate(found)]


@pytest.mark.parametrize("engine", [replay_in_reference, replay_device])
@pytest.mark.parametrize("program", programs("pytorch-2.15.0.txt.gz"))
def test_every_address_call_and_figure_of_pytorch(engine, program):
    fraction, *settings = program.given
    given = {"fraction": float(fraction)} if fraction != "0" else {}
    replay = program.replayed(engine, "pytorch", settings="".join(settings), **given)
    placed = [
        -1 if op == Op.USE else address
        for (op, *_), address in zip(program.events, replay.addresses.tolist(), strict=True)
    ]
    assert placed == program.addresses
    assert replay.calls.tolist() == program.calls
    figures = replay.figures
    assert [figures.memory_stats[name] for name in STATISTICS] == program.statistics[:40]
    counted = [figures.device_alloc, figures.device_free, figures.retries, figures.refused]
    assert counted == program.statistics[40:]


@pytest.mark.parametrize("engine", [replay_in_reference, replay_device])
@pytest.mark.parametrize("program", programs("rmm-26.10.txt.gz"))
def test_every_address_and_call_of_rmm(engine, program):
    replay = program.replayed(engine, "rmm-pool", maximum=int(program.given[0]))
    assert replay.addresses.tolist() == program.addresses
    assert replay.calls.tolist() == program.granted()


@pytest.mark.parametrize("engine", [replay_in_reference, replay_device])
@pytest.mark.parametrize("program", programs("bfc-2.21.0.txt.gz"))
def test_every_address_and_call_of_bfc(engine, program):
    parameters = dict(each.split("=") for each in program.given[0].split(","))
    replay = program.replayed(engine, "bfc", **parameters)
    assert replay.addresses.tolist() == program.addresses
    assert sorted(replay.calls.tolist()) == sorted(program.granted())


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.name.split(".")[0])
def test_the_model_does_what_the_snapshot_tells(path, tmp_path):
    (tmp_path / "snapshot.pickle").write_bytes(gzip.decompress(path.read_bytes()))
    found = what_if(load_log(tmp_path / "snapshot.pickle"), [])
    real, model = found.recorded, found.model
    assert real["oom"] > 1
    assert model.peak_reserved_bytes == real["peak_reserved_bytes"]
    assert model.final_reserved_bytes == real["final_reserved_bytes"]
    assert model.device_alloc == real["segment_alloc"] + real["segment_map"]
    assert model.device_free == real["segment_free"] + real["segment_unmap"]
    assert model.refused == real["oom"]
