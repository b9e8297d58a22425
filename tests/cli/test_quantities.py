"""Each word of --of selects the same quantity in every command and in the Python functions."""

import csv
import io
import json

import numpy as np
import pytest
from command import simalloc

import simalloc as api
from simalloc.errors import SimallocError
from simalloc.heap.quantity import NAMES, QUANTITIES, WORDS, footprint, worst
from simalloc.report.page import find_out
from simalloc.sweep import Results, compare, run_sweep
from simalloc.trace import Trace, open_trace, write_trace

POLICY = "next-fit-ao:growth=400K,trim=400K,capacity=1600K"
KEYS = {
    "mapped": "peak_heap_bytes",
    "resident": "peak_resident_bytes",
    "largest-free": "min_largest_free_bytes",
}


def made(seed=1, events=2000):
    """Return a trace that grows, shrinks and grows again, with call sites."""
    draw = np.random.default_rng(seed)
    live, rows, objects = [], [], 0
    for event in range(events):
        frees = 0.9 if event % 900 > 600 else 0.3
        if live and draw.random() < frees:
            rows.append((1, live.pop(draw.integers(len(live))), 0))
        else:
            rows.append((0, objects, int(draw.integers(1, 9000))))
            live.append(objects)
            objects += 1
    names = ["", "one (a.c:1)", "two (b.c:2)"]
    sites = np.arange(events) % 2 + 1
    return Trace.from_events(
        *zip(*rows, strict=True), site=sites, provenance={"sites": names}, name=f"made-{seed}"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("quantities")
    for seed in (1, 2):
        write_trace(made(seed), path / f"made-{seed}.npz")
    for of in QUANTITIES:
        plan = f'traces = ["made-*.npz"]\nscales = [1]\nof = "{of}"\n'
        (path / f"{of}.toml").write_text(f"{plan}[policies.next-fit-ao]\n{_parameters()}")
        done = simalloc("sweep", f"{of}.toml", "-o", f"{of}.sqlite", cwd=path)
        assert done.exit_code == 0, done.stderr
    return path


def _parameters():
    pairs = (part.split("=") for part in POLICY.partition(":")[2].split(","))
    return "".join(f'{name} = "{value}"\n' for name, value in pairs)


def rows(folder, *words):
    """Return the CSV output of a command, with numbers where possible."""
    done = simalloc(*words, cwd=folder)
    assert done.exit_code == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def ran(folder, of):
    words = ("run", "made-1.npz", "-p", POLICY, "--scale", "1", "--of", of, "--format", "json")
    return json.loads(simalloc(*words, cwd=folder).stdout)[0]


def of_run(folder, of):
    return ran(folder, of)[KEYS[of]]


def of_range(folder, of):
    words = ("--range", "growth=400K", "--of", of, "--scale", "1", "--format", "csv")
    (row,) = rows(folder, "run", "made-1.npz", "-p", POLICY, *words)
    name = {"mapped": "peak heap", "resident": "peak resident"}.get(of, "min largest free")
    return float(row[f"{name} median"])


def of_waste(folder, of):
    words = ("--of", of, "--scale", "1", "--format", "csv")
    found = rows(folder, "waste", "made-1.npz", "-p", POLICY, *words)
    name = {"mapped": "heap", "resident": "resident"}.get(of, "largest_free")
    return float(found[0][name])


def of_pages(folder, of):
    if of == "largest-free":
        pytest.skip("pages compares bytes")
    words = ("--of", of, "--scale", "1", "--format", "csv")
    (row,) = (
        row
        for row in rows(folder, "pages", "made-1.npz", "-p", POLICY, *words)
        if row["page"] == of
    )
    return float(row["peak"])


def of_place(folder, of):
    found = rows(folder, "place", "made-1.npz", "-p", POLICY, "--scale", "1", "--of", of)
    column = [float(row[of.replace("-", "_")]) for row in found]
    return min(column) if of == "largest-free" else max(column)


def of_simulate(folder, of):
    measured = {"resident": True, "largest_free": True}
    run = api.simulate(str(folder / "made-1.npz"), POLICY, scale=1, **measured)
    return worst(run, of).bytes


def of_waste_in_python(folder, of):
    found = api.waste(str(folder / "made-1.npz"), POLICY, of=of, scale=1)
    return {"mapped": found.heap, "resident": found.resident}.get(of, found.largest_free)


def of_results(folder, of):
    found = rows(folder, "results", f"{of}.sqlite", "--format", "csv")
    return next(float(row[KEYS[of]]) for row in found if row["trace"] == "made-1")


def of_results_table(folder, of):
    found = rows(folder, "results", f"{of}.sqlite", "--of", of, "--format", "json")
    assert found
    table = Results.read(folder / f"{of}.sqlite").table(of)
    name = {"mapped": "peak heap", "resident": "peak resident"}.get(of, "min largest free")
    return table.rows[0][table.columns.index(name)]


def of_pivot(folder, of):
    (row,) = rows(folder, "results", f"{of}.sqlite", "--pivot", of, "--format", "csv")
    return next(float(cell) for name, cell in row.items() if name.startswith("made-1@"))


def of_ranking(folder, of):
    found = Results.read(folder / f"{of}.sqlite").rank(of).pivot
    return found.values[0, [column.trace for column in found.traces].index("made-1")]


def of_comparison(folder, of):
    results = Results.read(folder / f"{of}.sqlite")
    found = compare(results, results, of).table(every=True)
    return next(row[found.columns.index("A")] for row in found.rows if row[0] == "made-1")


def of_sweep_in_python(folder, of):
    (row,) = run_sweep(folder / "made-1.npz", POLICY, scales=1, of=QUANTITIES)
    return row[KEYS[of]]


@pytest.mark.parametrize("of", QUANTITIES)
@pytest.mark.parametrize(
    "surface",
    [
        of_range,
        of_waste,
        of_pages,
        of_place,
        of_simulate,
        of_waste_in_python,
        of_results,
        of_results_table,
        of_pivot,
        of_ranking,
        of_comparison,
        of_sweep_in_python,
    ],
)
def test_a_word_has_one_number(folder, surface, of):
    assert surface(folder, of) == of_run(folder, of) > 0


@pytest.mark.parametrize("of", QUANTITIES)
def test_sites_are_examined_at_the_event_of_the_number(folder, of):
    trace = str(folder / "made-1.npz")
    run = api.simulate(trace, POLICY, resident=True, largest_free=True)
    found = api.sites(trace, POLICY, at="peak", of=of)
    assert found.event == worst(run, of).event
    words = ("sites", "made-1.npz", "-p", POLICY, "--at", "peak", "--of", of)
    assert f"{found.event:,}" in simalloc(*words, cwd=folder).stdout


def test_the_events_are_three(folder):
    """The tests above need three different events."""
    trace = str(folder / "made-1.npz")
    run = api.simulate(trace, POLICY, scale=1, resident=True, largest_free=True)
    assert len({worst(run, of).event for of in QUANTITIES}) == 3
    assert run.resident.peak_bytes != run.mapped.peak_bytes


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("of", ["mapped", "resident"])
def test_fragmentation_is_of_the_word_too(folder, of, number):
    expected = ran(folder, of)["fragmentation"][str(number)]
    results = Results.read(folder / f"{of}.sqlite")
    found = results.pivot(number, of=of)
    assert found.values[0, 0] == expected
    assert results.rank(number, of=of).pivot.values.max() >= expected
    compared = ("compare", f"{of}.sqlite", f"{of}.sqlite", "--measure", number, "--of", of)
    assert rows(folder, *compared, "--every", "--format", "csv")[0]["A"]


def test_the_most_room_ranks_first(folder):
    path = folder / "made-*.npz"
    policies = ["first-fit-ao:capacity=2M", "first-fit-ao:capacity=4M"]
    results = run_sweep(path, policies, scales=1, of="largest-free")
    for order in (
        results.rank("largest-free").pivot,
        results.pivot("largest-free").sorted_by("average"),
    ):
        assert order.settings[0].policy.endswith("4M")
        assert order.averages[0] > order.averages[1]


def test_a_sweep_adds_a_quantity_to_its_runs(folder, tmp_path):
    path, results = folder / "made-1.npz", tmp_path / "r.sqlite"
    (before,) = run_sweep(path, POLICY, results=results)
    assert "peak_resident_bytes" not in before
    both = run_sweep(path, POLICY, results=results, of=["resident", "largest-free"])
    (after,) = both
    assert {name: after[name] for name in before if name != "id"} == {
        name: before[name] for name in before if name != "id"
    }
    assert after["peak_resident_bytes"] > 0 < after["min_largest_free_bytes"]
    assert run_sweep(path, POLICY, results=results, of="resident")[0]["id"] == after["id"]


COMMANDS = {
    "run": ("made-1.npz", "-p", POLICY),
    "waste": ("made-1.npz", "-p", POLICY),
    "place": ("made-1.npz", "-p", POLICY),
    "pages": ("made-1.npz", "-p", POLICY),
    "sites": ("made-1.npz", "-p", POLICY),
    "results": ("mapped.sqlite",),
    "compare": ("mapped.sqlite", "mapped.sqlite"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_word_is_refused_with_the_known_ones(folder, command):
    done = simalloc(command, *COMMANDS[command], "--of", "residnet", cwd=folder)
    assert done.exit_code == 2
    assert "'residnet' is not one of 'mapped', 'resident'" in done.stderr


def test_an_unknown_word_of_a_plan_names_its_line(folder, tmp_path):
    plan = tmp_path / "p.toml"
    plan.write_text(
        f'traces = ["{folder}/made-1.npz"]\nof = ["residnet"]\n[policies.best-fit-ao]\n'
    )
    done = simalloc("sweep", plan, "-o", tmp_path / "r.sqlite")
    assert done.exit_code == 2
    assert "line 2: unknown quantity 'residnet'; choose one of mapped, resident" in done.stderr


@pytest.mark.parametrize(
    "call",
    [
        lambda trace: api.waste(trace, POLICY, of="residnet"),
        lambda trace: api.sites(trace, POLICY, of="residnet"),
        lambda trace: run_sweep(trace, POLICY, of="residnet"),
        lambda trace: api.simulate_all(trace, [POLICY]).table("residnet"),
        lambda trace: api.draw_timelines(api.simulate(trace, POLICY), of="residnet"),
    ],
)
def test_an_unknown_word_in_python(folder, call):
    with pytest.raises(SimallocError, match="'residnet'; choose one of mapped, resident, largest"):
        call(str(folder / "made-1.npz"))


@pytest.mark.parametrize("of", ["resident", "largest-free"])
def test_what_was_not_measured_is_said(folder, of):
    done = simalloc("results", "mapped.sqlite", "--of", of, cwd=folder)
    assert done.exit_code == 2
    assert f'have not measured {WORDS[of]}; add of = "{of}" to the plan' in done.stderr
    with pytest.raises(SimallocError, match="has not measured"):
        api.draw_timelines(api.simulate(str(folder / "made-1.npz"), POLICY), of=of)


@pytest.mark.parametrize("of", QUANTITIES)
def test_pictures_take_the_word(folder, of):
    trace = str(folder / "made-1.npz")
    runs = api.simulate_all(trace, [POLICY], resident=True, largest_free=True)
    (axes,) = api.draw_timelines(runs, of=of).axes
    (line,) = (line for line in axes.lines if line.get_linewidth() > 1)
    series = footprint(runs[0], of).timeline
    assert line.get_ydata().max() == series.heap_high.max()
    assert NAMES[of] in axes.get_legend().get_title().get_text()


def test_pictures_of_fragmentation_take_resident_bytes(folder):
    results = Results.read(folder / "resident.sqlite")
    trace = str(folder / "made-1.npz")
    runs = api.simulate_all(trace, [POLICY], resident=True)
    for drawn in (api.draw_ranking, api.draw_fragmentation):
        for compared in (results, runs):
            (axes,) = drawn(compared, of="resident").axes
            assert "peak resident / peak live" in axes.get_xlabel()
        with pytest.raises(SimallocError, match="fragmentation measures mapped or resident bytes"):
            drawn(results, of="largest-free")


@pytest.mark.parametrize("of", ["mapped", "resident"])
def test_a_page_has_the_numbers(folder, of):
    """The page lists policies by mapped bytes, and mallocs by resident bytes."""
    trace = open_trace(folder / "made-1.npz")
    found = find_out(trace, given="made-1.npz", chosen=[POLICY])
    runs = found.runs if of == "mapped" else [one.run for one in found.settings]
    assert len(runs) > 5
    for run in runs:
        expected = api.simulate(trace, run.policy, resident=of == "resident")
        assert worst(run, of) == worst(expected, of)
