"""Hummingbird and Emacs of Gabber et al. 2001: what is generated has the figures that fix it."""

import numpy as np
import pytest

from simalloc.trace import Op
from simalloc.trace.workloads import gabber_emacs, hummingbird, workload
from simalloc.trace.workloads.sizes import exact_counts, exponent, power_law


@pytest.fixture(scope="module")
def cache():
    return workload("hummingbird-tenth")


@pytest.fixture(scope="module")
def editor():
    return workload("gabber-emacs-tenth")


def sizes(trace):
    return trace.size[trace.op == Op.MALLOC]


def shares(trace, smallest, largest):
    """Return the percent of objects and of bytes of a range of sizes."""
    size = sizes(trace)
    inside = size[(size >= smallest) & (size <= largest)]
    return 100 * len(inside) / len(size), 100 * inside.sum() / size.sum()


def test_counts_are_whole_and_add_up():
    assert exact_counts((1, 1, 1), 10) == [4, 3, 3]
    assert exact_counts((25.0, 75.0), 8) == [2, 6]


@pytest.mark.parametrize(("smallest", "largest", "mean"), [(24, 32, 25.2), (128, 32760, 5296)])
def test_a_power_law_has_the_mean_asked_for(smallest, largest, mean):
    drawn = power_law(np.random.default_rng(1), 100_000, smallest, largest, mean)
    assert drawn.mean() == pytest.approx(mean, rel=1e-3)
    assert drawn.min() >= smallest
    assert drawn.max() <= largest
    assert not np.any(drawn % 8)


def test_a_power_law_falls_as_its_exponent_says():
    drawn = power_law(np.random.default_rng(1), 1_000_000, 128, 32760, 5296)
    size, times = np.unique(drawn, return_counts=True)
    slope = np.polyfit(np.log(size), np.log(times), 1)[0]
    assert -slope == pytest.approx(exponent(128, 32760, 5296), abs=0.02)


def test_a_mean_outside_the_range_is_refused():
    with pytest.raises(ValueError, match="cannot have a mean"):
        power_law(np.random.default_rng(1), 10, 8, 16, 16)


@pytest.mark.parametrize(
    ("smallest", "largest", "objects", "by_bytes"),
    [
        (8, 8, 25.813, 0.118),
        (32, 32, 23.775, 0.436),
        (24, 24, 9.848, 0.136),
        (56, 56, 7.518, 0.242),
        (40, 40, 3.196, 0.073),
        (80, 120, 0.911, 0.045),
        (128, 32760, 6.647, 20.197),
        (32768, 32768, 2.975, 55.935),
        (32776, 39_966_072, 0.364, 22.370),
    ],
)
def test_hummingbirds_sizes_have_the_shares_of_table_1(cache, smallest, largest, objects, by_bytes):
    here = shares(cache, smallest, largest)
    assert here[0] == pytest.approx(objects, abs=0.0006)
    assert here[1] == pytest.approx(by_bytes, rel=0.02), "the largest object weighs more in a tenth"


def test_hummingbirds_live_memory_is_flat(cache):
    live = cache.replayed.live[len(cache) // 4 :]
    assert live.mean() == pytest.approx(hummingbird.LIVE_BYTES, rel=0.01)
    assert live.max() < 1.05 * hummingbird.LIVE_BYTES


def test_hummingbirds_files_live_long_and_its_clusters_do_not(cache):
    def freed_within(smallest, largest, objects):
        """Return how many of the objects of these sizes die that soon, of those that are freed."""
        number = np.cumsum(cache.op == Op.MALLOC)
        born = np.flatnonzero(cache.op == Op.MALLOC)
        died = np.full(cache.objects, len(cache) - 1)
        freed = np.flatnonzero(cache.op == Op.FREE)
        died[cache.object[freed]] = freed
        age = number[died] - number[born]
        chosen = (cache.size[born] >= smallest) & (cache.size[born] <= largest)
        return np.mean(age[chosen] <= objects)

    assert freed_within(32768, 32768, 64_000) > 0.95
    assert freed_within(128, 32760, 64_000) < 0.5


@pytest.mark.parametrize(
    ("smallest", "largest", "objects", "by_bytes"),
    [
        (40, 40, 51.335, 8.902),
        (648, 648, 15.625, 43.897),
        (104, 104, 11.368, 5.126),
        (24, 32, 1.549, 0.169),
        (72, 96, 0.141, 0.059),
        (112, 640, 3.554, 3.599),
        (656, 23568, 1.917, 35.520),
    ],
)
def test_emacs_sizes_have_the_shares_of_table_2(editor, smallest, largest, objects, by_bytes):
    here = shares(editor, smallest, largest)
    assert here[0] == pytest.approx(objects, abs=0.0006)
    assert here[1] == pytest.approx(by_bytes, rel=0.02)


def test_emacs_live_memory_grows_to_the_end(editor):
    live = editor.replayed.live
    assert live[-1] == pytest.approx(gabber_emacs.LIVE_BYTES / 10, rel=0.001)
    quarters = [quarter.mean() for quarter in np.array_split(live, 4)]
    assert quarters == sorted(quarters)


@pytest.mark.parametrize("name", ["hummingbird-tenth", "gabber-emacs-tenth"])
def test_generated_traces_say_so(name):
    trace = workload(name)
    assert trace.name.endswith("(generated)")
    assert trace.provenance["kind"] == "generated"
    assert "nothing was recorded" in trace.provenance["recorded"]


@pytest.mark.parametrize("objects", [1000, 20_000])
def test_short_traces_can_be_had(objects):
    for generate in (hummingbird.hummingbird, gabber_emacs.gabber_emacs):
        assert generate(objects=objects).objects == objects
