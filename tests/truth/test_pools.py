"""The models of fixed pools against what the real code has done (tests/data/pools)."""

from pathlib import Path

import pytest

import simalloc
from experiments.pools.recordings import Recording, open_trace
from simalloc.errors import PolicyError
from simalloc.heap import Realloc, simulate
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay_all
from simalloc.policy import GROUPS, find_policy
from simalloc.policy.pool import Pool

DATA = Path(__file__).parents[1] / "data" / "pools"
RECORDINGS = [Recording.of(path) for path in sorted(DATA.glob("*/expected/*"))]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda one: f"{one.trace}-{one.policy}")
def test_every_address_and_figure_is_that_of_the_real_code(recording):
    rows, different = recording.compare()
    assert rows >= 600
    assert different == []


def test_every_allocator_has_a_recording():
    recorded = {find_policy(one.policy).name for one in RECORDINGS}
    assert recorded == {*GROUPS["pool"], "tlsf"}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda one: f"{one.trace}-{one.policy}")
def test_the_heap_is_right_after_every_event(recording):
    source = open_trace(recording.path.parents[1], recording.trace)
    policy = find_policy(recording.policy)
    setting = Setting(source, policy, 1, Realloc.IN_PLACE, goes_on=True)
    simulation = setting.simulation(checked=True)
    replay_all(simulation, setting)
    assert simulation.figures()["events"] == len(source)


@pytest.mark.parametrize("name", GROUPS["pool"])
def test_there_is_no_second_engine(name):
    assert isinstance(find_policy(name).description, Pool)
    trace = simalloc.Trace.from_events([0, 1], [0, 0], [10, 0])
    with pytest.raises(PolicyError, match="recordings of the real code"):
        simulate(trace, name, engine="reference")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("freertos-heap-4:capacity=20", "takes 24 bytes at least"),
        ("freertos-heap-4:capacity=4096,align=24", "align is 24"),
        ("freertos-heap-5:regions=0", "it takes OFFSET[+]SIZE"),
        ("freertos-heap-5:regions=0+4096+4000+N", "begins below the end"),
        ("tlsf:capacity=4096", "with mechanism=on"),
        ("tlsf:mechanism=on,pool2=4096", "pool2 with a capacity"),
        ("tlsf:mechanism=on,capacity=2G", "at most 1073741824 bytes"),
        ("esp-idf:capacity=100", "bytes at least"),
        ("esp-idf:release=54", "one of 55, 53"),
    ],
)
def test_pools_that_cannot_be(text, complaint):
    with pytest.raises(PolicyError, match=complaint):
        find_policy(text)
