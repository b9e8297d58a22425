"""The models of fixed pools compared with the real code's results (tests/data/pools)."""

from pathlib import Path

import pytest

import simalloc
from experiments.pools.least import refuses
from experiments.pools.recordings import Recording, open_trace
from simalloc.errors import PolicyError
from simalloc.heap import Realloc, simulate
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay_all
from simalloc.policy import GROUPS, find_policy, spell
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
    setting = Setting.of(source, policy, realloc=Realloc.IN_PLACE)
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
        ("freertos-heap-4:capacity=20", "takes at least 24 bytes"),
        ("freertos-heap-4:capacity=4096,align=24", "align is 24"),
        ("freertos-heap-5:regions=0", "use OFFSET[+]SIZE"),
        (
            "freertos-heap-5:regions=0+4096+4000+N",
            "begins below 4096, the end of the previous region",
        ),
        ("nuttx:regions=100", "use OFFSET[+]SIZE"),
        (
            "nuttx:capacity=4096,regions=100+500",
            "begins below 4096, the end of the previous region",
        ),
        ("nuttx:capacity=4096,regions=8192+20", "has 20 bytes; with these parameters"),
        ("wee-alloc:capacity=4096", "takes at least 4097 bytes"),
        ("tlsf:mechanism=on,pool2=4096", "needs a capacity and mechanism=on"),
        ("tlsf:mechanism=on,capacity=2G", "at most 1073741824 bytes"),
        ("esp-idf:capacity=100", "takes at least"),
        ("esp-idf:release=54", "one of 55, 53"),
    ],
)
def test_pools_that_cannot_be(text, complaint):
    with pytest.raises(PolicyError, match=complaint):
        find_policy(text)


@pytest.mark.parametrize(
    "policy",
    [
        *("freertos-heap-1", "freertos-heap-1:skew=5", "freertos-heap-4", "freertos-heap-4:skew=5"),
        *("freertos-heap-4:align=16,word=8", "lwip:idx=16,align=4", "lwip:idx=32,align=8"),
    ],
)
def test_the_least_pool_is_told_by_the_high_water_mark_where_the_rules_say_so(policy):
    source = open_trace(DATA / "freertos-heap_4", "ramp")
    row = find_policy(policy)
    least = row.description.min_from(int(simulate(source, row).peak_heap_bytes))
    grain = row.description.grain
    assert row.description.is_monotone
    assert refuses(source, spell(row.with_parameters(capacity=least - grain)))
    for size in range(least, least + 40 * grain, grain):
        assert not refuses(source, spell(row.with_parameters(capacity=size)))


def test_the_policies_without_a_proof_have_no_formula():
    for name in GROUPS["pool"]:
        described = find_policy(name).description
        assert described.min_from(10_000) is None or described.is_monotone
    assert find_policy("freertos-heap-5:regions=0+4096+65536+N").description.is_monotone
    assert not find_policy("freertos-heap-5:regions=0+N+65536+4096").description.is_monotone


def test_a_request_for_nothing_is_refused_and_counts_as_no_refusal():
    trace = simalloc.Trace.from_events([0, 2, 1, 0, 1], [0, 0, 0, 1, 1], [0, 20, 0, 9, 0])
    assert not refuses(trace, "freertos-heap-4")
    assert not refuses(trace, "zephyr")


def test_the_heap_s_largest_request_is_the_one_that_it_says():
    policy = "zephyr:capacity=2048"
    trace = simalloc.Trace.from_events([0], [0], [1])
    setting = Setting.of(trace, policy, realloc=Realloc.IN_PLACE)
    simulation = setting.simulation()
    largest = dict(zip(simulation.figure_names(), simulation.report(), strict=True))["largest"]
    served = simalloc.Trace.from_events([0], [0], [largest])
    refused = simalloc.Trace.from_events([0], [0], [largest + 1])
    assert not refuses(served, policy)
    assert refuses(refused, policy)
