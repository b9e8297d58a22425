"""Synthetic workloads: each distribution, phases, threads, and errors."""

import re
from contextlib import suppress
from dataclasses import fields

import numpy as np
import pytest

from simalloc.errors import SimallocError
from simalloc.trace import Op
from simalloc.trace.catalogue import load
from simalloc.trace.lives import lives_of
from simalloc.trace.workloads import Synthetic, generate, workload
from simalloc.trace.workloads.distributions import LIFETIMES, SIZES, read_distribution
from simalloc.trace.workloads.generator import PHASES

COUNT = 20_000


def sizes(text, count=COUNT):
    return read_distribution(text, SIZES, "sizes").draw(count, np.random.default_rng(1))


def lifetimes(text, drawn=None):
    drawn = np.ones(COUNT) if drawn is None else drawn
    return read_distribution(text, LIFETIMES, "lifetimes").draw(drawn, np.random.default_rng(1))


def made(**described):
    return generate(Synthetic(**{"objects": COUNT, **described}))


def live_objects(trace):
    return np.cumsum(np.where(trace.op == Op.MALLOC, 1, -1))


def test_sizes_have_the_moments_of_their_distribution():
    assert set(sizes("constant:value=48")) == {48}
    drawn = sizes("uniform:min=16,max=20")
    assert set(drawn) == {16, 17, 18, 19, 20}
    assert np.median(sizes("lognormal:median=100,sigma=1")) == pytest.approx(100, rel=0.03)
    drawn = sizes("powerlaw:alpha=2,min=10,max=1000")
    assert (drawn.min() >= 10, drawn.max() <= 1000) == (True, True)
    assert np.median(drawn) == pytest.approx(1 / (0.5 / 10 + 0.5 / 1000), rel=0.03)
    assert np.median(sizes("powerlaw:alpha=1,min=1,max=10K")) == pytest.approx(101, rel=0.05)


def test_lifetimes_have_the_means_of_their_distribution():
    assert lifetimes("exponential:mean=70").mean() == pytest.approx(70, rel=0.03)
    drawn = lifetimes("generational:young=10,tenured=1000,old=0.1")
    assert drawn.mean() == pytest.approx(0.9 * 10 + 0.1 * 1000, rel=0.05)
    assert set(lifetimes("fifo:length=30")) == {30}


@pytest.mark.parametrize("depth", [1, 2, 7, 500])
def test_the_newest_object_of_a_stack_is_freed_first(depth):
    trace = made(objects=2000, lifetimes=f"lifo:depth={depth}")
    stack = []
    for op, number in zip(trace.op, trace.object, strict=True):
        if op == Op.MALLOC:
            stack.append(number)
            assert len(stack) <= depth
        else:
            assert stack.pop() == number


def test_a_table_has_sizes_weights_and_mean_lifetimes(tmp_path):
    path = tmp_path / "sizes.csv"
    path.write_text("16,3,30\n4096,1,100\n")
    drawn = sizes(f"table:file={path}")
    assert np.mean(drawn == 16) == pytest.approx(0.75, abs=0.02)
    ages = lifetimes(f"by-size:file={path}", drawn)
    assert ages[drawn == 16].mean() == pytest.approx(30 / 3 * 4, rel=0.05)
    assert ages[drawn == 4096].mean() == pytest.approx(100 * 4, rel=0.05)
    live = live_objects(made(sizes=f"table:file={path}", lifetimes=f"by-size:file={path}"))
    assert live[5000:].mean() == pytest.approx(130, rel=0.05)


def test_fleetbench_distributions_are_read(tmp_path):
    """Four lines of Tcmalloc_0.csv (google/fleetbench, 05cfaea), with a space after each comma."""
    path = tmp_path / "Tcmalloc_0.csv"
    path.write_text(
        "8, 80093.86564788046, 97684.57829865842\n"
        "16, 101940.77258082927, 1974305.1487328575\n"
        "24, 122562.00862442897, 718630.705725727\n"
        "32, 483965.9220425887, 2383225.915692345"
    )
    trace = made(sizes=f"table:file={path}", lifetimes=f"by-size:file={path}")
    share = np.mean(lives_of(trace).size == 32)
    assert share == pytest.approx(483966 / 788562, abs=0.02)


def test_a_trace_gives_its_own_sizes_and_lifetimes():
    trace = made(sizes="table:trace=p2c", lifetimes="resampled:trace=p2c")
    known, lives = lives_of(load("p2c")), lives_of(trace)
    pairs = set(zip(known.size.tolist(), known.length.tolist(), strict=True))
    ended = lives.freed
    found = set(zip(lives.size[ended].tolist(), lives.length[ended].tolist(), strict=True))
    assert len(found) > 100
    assert found <= pairs


@pytest.mark.parametrize("correlation", [-0.8, 0.8])
def test_correlation_orders_lifetimes_by_size(correlation):
    lives = lives_of(made(sizes="uniform", correlation=correlation))
    ranks = [np.argsort(np.argsort(x[lives.freed])) for x in (lives.size, lives.length)]
    assert np.corrcoef(*ranks)[0, 1] == pytest.approx(correlation, abs=0.05)


def test_batches_of_neighbours_are_freed_together():
    frees = np.flatnonzero(made(batch=25).op == Op.FREE)
    bursts = (np.diff(frees, prepend=-9) > 1).sum()
    assert len(frees) / bursts > 10


def test_phases_shape_the_live_objects():
    plateau, ramp = live_objects(made()), live_objects(made(phases="ramp:kept=0.3"))
    assert plateau[-1] < 1500 < 0.25 * COUNT < ramp[-1]
    saw = live_objects(made(phases="sawtooth:periods=5,kept=0.1"))
    assert saw.max() == pytest.approx(COUNT / 5 * 1.4, rel=0.05)
    assert saw[-1] == pytest.approx(COUNT * 0.1, rel=0.1)
    peaks = live_objects(made(lifetimes="exponential:mean=20", phases="peaks:periods=5,height=50"))
    assert peaks.max() > 5 * np.median(peaks)


def test_threads_allocate_and_others_free_a_share():
    trace = made(threads=4, remote=0.25)
    assert trace.threads == 4
    mallocs = trace.op == Op.MALLOC
    owner = np.empty(trace.objects, np.int64)
    owner[trace.object[mallocs]] = trace.thread[mallocs]
    remote = owner[trace.object[~mallocs]] != trace.thread[~mallocs]
    assert remote.mean() == pytest.approx(0.25, abs=0.02)


def test_the_same_seed_gives_the_same_trace():
    described = Synthetic(objects=500, threads=2, batch=3, phases="peaks", correlation=0.5)
    first = generate(described, 7)
    assert first == generate(described, 7)
    assert first != generate(described, 8)
    assert first.provenance["seed"] == 7


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ({"sizes": "normal"}, "unknown sizes 'normal'; choose one of constant"),
        ({"sizes": "uniform:least=3"}, "no parameter 'least'; it has min, max"),
        ({"sizes": "uniform:min=many"}, "min is 'many'"),
        ({"sizes": "uniform:min=9,max=8"}, "min exceeds max"),
        ({"sizes": "powerlaw:min=0"}, "min must be at least 1 and below max"),
        ({"sizes": "lognormal:median=0"}, "median is not positive"),
        ({"sizes": "lognormal:sigma=21"}, "sigma is '21'; use a number from 0 to 20"),
        ({"sizes": "lognormal:sigma=1,sigma=2"}, "sigma is given twice"),
        ({"sizes": "constant:value=1e15"}, "value is '1e15'; use a number from 0 to 140,737"),
        ({"sizes": 64}, "sizes is 64; use text such as 'constant'"),
        ({"lifetimes": None}, "lifetimes is None; use text such as 'exponential'"),
        ({"lifetimes": "by-size"}, "either file=FILE or trace=TRACE"),
        ({"lifetimes": "generational:old=2"}, "old is '2'; use a number from 0 to 1"),
        ({"phases": "ramp:kept=64K"}, "kept is '64K'; use a number from 0 to 1"),
        ({"phases": 3}, "phases is 3; use text such as 'plateau'"),
        ({"sizes": "table"}, "either file=FILE or trace=TRACE"),
        ({"sizes": "table:file=/nowhere"}, "/nowhere: No such file"),
        ({"lifetimes": "resampled"}, "resampled needs trace"),
        ({"lifetimes": "immortal"}, "unknown lifetimes 'immortal'"),
        ({"phases": "tide"}, "unknown phases 'tide'; choose one of plateau"),
        ({"phases": "ramp:periods=3"}, "no parameter 'periods'; it has kept"),
        ({"phases": "sawtooth:periods=0"}, "periods is '0'; use a number from 1"),
        ({"objects": 0}, "objects is 0"),
        ({"objects": 1.5}, "objects is 1.5; use a whole number from 1"),
        ({"objects": True}, "objects is True; use a whole number from 1"),
        ({"threads": 2.5}, "threads is 2.5; use a whole number from 1"),
        ({"threads": 1, "remote": 0.5}, "at least two threads"),
        ({"correlation": 2}, "correlation is 2"),
    ],
)
def test_descriptions_that_make_no_sense_are_refused(described, words):
    with pytest.raises(SimallocError, match=words):
        generate(Synthetic(**{"objects": 10, **described}))


PARAMETERS = [
    (field, name, parameter.name)
    for field, kinds in (("sizes", SIZES), ("lifetimes", LIFETIMES))
    for name, kind in kinds.items()
    for parameter in fields(kind)
] + [("phases", name, parameter) for name, known in PHASES.items() for parameter in known]
ODD = ["0", "-0", "-1", "1", "1e-320", "1e308", "1e400", "nan", "inf", "-inf", "64K", "1e18"]
ODD += ["1_000", "0x10", "many", "true", ""]


@pytest.mark.parametrize(("field", "name", "parameter"), PARAMETERS)
@pytest.mark.filterwarnings("error")
def test_any_value_of_a_parameter_gives_a_trace_or_an_error_of_ours(field, name, parameter):
    for value in ODD:
        described = {"objects": 200, field: f"{name}:{parameter}={value}"}
        with suppress(SimallocError):
            assert generate(Synthetic(**described)).objects == 200, value


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True, float("nan")])
def test_a_seed_is_a_whole_number(seed):
    words = re.escape(f"seed is {seed!r}; use a whole number of at least 0")
    with pytest.raises(SimallocError, match=words):
        generate(Synthetic(objects=10), seed)
    with pytest.raises(SimallocError, match=words):
        workload("lrusim", seed)
    assert generate(Synthetic(objects=10), np.int64(7)) == generate(Synthetic(objects=10), 7)


@pytest.mark.parametrize("text", ["1\n", "a,b\n", "-1,2\n", "16,0\n", "16,nan\n", ""])
def test_tables_that_are_none_are_refused(tmp_path, text):
    path = tmp_path / "sizes.csv"
    path.write_text(text)
    with pytest.raises(SimallocError, match=r"sizes\.csv"):
        sizes(f"table:file={path}")
