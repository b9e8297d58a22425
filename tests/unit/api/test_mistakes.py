"""Mistakes that users make in Python: each error states the fault and the correction."""

import pytest

import simalloc
from simalloc.errors import PolicyError, ResultsError, SimallocError


@pytest.fixture(scope="module")
def run():
    return simalloc.simulate("make", "first-fit-ao")


def test_measures_are_given_in_every_way(run):
    found = simalloc.fragmentation(run)
    assert found[4] == found["4"] == found["#4"] == found["fragmentation_4"] == found.peak_to_peak


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (
            lambda run: simalloc.fragmentation(run)["#5"],
            "unknown measure '#5'; write 1 to 4, or '#4'",
        ),
        (lambda _run: simalloc.fragmentation("make"), "takes a run that simulate.. returned, not"),
        (
            lambda _run: simalloc.draw_ranking(simalloc.read_trace("make")),
            r"draw_ranking\(\) takes a Run or several",
        ),
        (lambda run: simalloc.draw_fragmentation([run], "#9"), "unknown measure '#9'"),
        (lambda _run: simalloc.draw_timelines("gcc"), "draw_timelines.. takes a Run .* not 'gcc'"),
        (lambda run: simalloc.draw_timelines([run, "gcc"]), "takes a Run or several, not a list"),
        (simalloc.draw_waste, "draw_waste.. takes a Waste or several, not a Run"),
        (
            lambda run: simalloc.draw_timelines(run, theme="Dark"),
            "unknown theme 'Dark'; choose one of",
        ),
        (lambda run: simalloc.draw_timelines([run, None]), "not a list with None"),
        (lambda _run: simalloc.draw_timelines([]), "not an empty list"),
        (
            lambda run: simalloc.draw_timelines(run, events=(5, 2)),
            r"events is \(5, 2\); use a",
        ),
        (
            lambda run: simalloc.draw_timelines(run, events="all"),
            "events is 'all'; use a range",
        ),
        (
            lambda _run: simalloc.draw_heap_maps("make", "@default", addresses=(0, float("nan"))),
            r"addresses is \(0, nan\); use a range",
        ),
        (lambda _run: simalloc.draw_heap_maps("make", "@default", named="5"), "named is '5'; use"),
        (
            lambda run: simalloc.draw_heap_maps("make", run),
            "a Run is not a policy or the name of one; use its attribute `policy`",
        ),
        (simalloc.draw_lives, "a Run is not a trace; give a name"),
        (lambda _run: simalloc.draw_flame_graph(None), "None is not a trace"),
        (lambda _run: simalloc.read_trace(""), "'' is not a trace"),
        (lambda _run: simalloc.best_possible(b"make"), "a bytes is not a trace"),
        (lambda _run: simalloc.simulate_all(None), "None is not a trace"),
        (lambda _run: simalloc.simulate_all([], "first-fit-ao"), "no traces are given"),
        (lambda _run: simalloc.run_sweep([], "first-fit-ao"), "no traces are given"),
        (lambda _run: simalloc.simulate_all("make", []), "no policies are given"),
        (lambda run: simalloc.write_trace(run, "made.npz"), "takes a Trace, not a Run"),
        (
            lambda _run: simalloc.check(simalloc.read_trace("make"), "first-fit-ao"),
            "takes the policy first",
        ),
        (lambda _run: simalloc.record("ls", "made.txt"), "made.txt: is the name of a text"),
        (lambda _run: simalloc.record(5), "must be a list or a line of text, not an int"),
        (lambda _run: simalloc.record("ls | wc"), r"record\(\['sh', '-c', 'ls \| wc'\]\)"),
    ],
)
def test_what_cannot_be_is_said(run, mistake, words):
    if "draw" in words or "theme" in words:
        pytest.importorskip("matplotlib")
    with pytest.raises(SimallocError, match=words):
        mistake(run)


@pytest.mark.parametrize(
    "several", [["best-fit-ao"], "best-fit-*", "@gabber", "all", "tlsf,jemalloc"]
)
def test_one_policy_is_simulated_and_several_are_simulated_by_another_function(several):
    with pytest.raises(PolicyError, match=r"can name several; simulate_all\(\)"):
        simalloc.simulate("make", several)


def test_a_text_can_list_several_policies():
    runs = simalloc.simulate_all("make", "first-fit-ao:growth=8K,fit=best,tlsf,first-fit-l*")
    texts = [str(run.policy) for run in runs]
    assert texts == ["first-fit-ao:fit=best,growth=8K", "tlsf", "first-fit-lifo"]


def test_a_trace_is_written_as_its_name_says(tmp_path):
    trace = simalloc.Trace.from_events([0, 1], [0, 0], [8, 0])
    for name, beginning in (("made.npz", b"PK"), ("made.txt", b"#")):
        simalloc.write_trace(trace, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(beginning)
        assert simalloc.read_trace(tmp_path / name).size.tolist() == [8, 0]


def test_a_parameter_of_a_policy_is_no_option_of_a_run():
    for function in (simalloc.simulate, simalloc.simulate_all):
        with pytest.raises(SimallocError, match="as in 'first-fit-ao:growth=64K', or use"):
            function("make", "best-fit-ao", growth="64K")


def test_a_catalogue_has_names_and_no_places():
    with pytest.raises(KeyError, match="0 is not among the traces"):
        simalloc.traces()[0]
    with pytest.raises(KeyError, match="is not among the traces"):
        simalloc.traces()[:2]
    with pytest.raises(KeyError, match="did you mean 'first-fit-ao'"):
        simalloc.policies()["first-fit-oa"]
    assert "first-fit-oa" not in simalloc.policies()


def test_results_are_not_kept_in_a_file_of_another_kind(tmp_path):
    path = tmp_path / "x.csv"
    with pytest.raises(ResultsError, match=r"a name such as .*x\.sqlite"):
        simalloc.run_sweep("make", "first-fit-ao", results=path)
    assert not path.exists()
    empty = tmp_path / "empty.npz"
    empty.touch()
    with pytest.raises(ResultsError, match=r"a name such as .*empty\.sqlite"):
        simalloc.run_sweep("make", "first-fit-ao", results=empty)
    assert not empty.stat().st_size


def test_a_measure_of_results_that_there_is_not_is_said(tmp_path):
    results = simalloc.run_sweep("make", "first-fit-ao", results=tmp_path / "r.sqlite")
    with pytest.raises(SimallocError, match="unknown measure '9'; write 1 to 4"):
        results.pivot("9")
