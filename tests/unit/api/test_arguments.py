"""Arguments of a wrong type: each public function refuses them and names the right type."""

from inspect import Parameter, signature

import pytest

import simalloc
from simalloc.errors import SimallocError

TRACE = simalloc.Trace.from_events(
    [0, 0, 1], [0, 1, 0], [100, 40, 0], site=[1, 2, 0], provenance={"sites": ["", "f", "g"]}
)
ONE = (TRACE, "first-fit-ao")
CALLS = {
    "apart": (*ONE, "f"), "best_apart": ONE, "best_possible": (TRACE,),
    "check": ("first-fit-ao", TRACE), "describe": (TRACE,), "draw_flame_graph": (TRACE,),
    "draw_free_sizes": ONE, "draw_heap_maps": ONE, "draw_lives": (TRACE,),
    "draw_portrait": (TRACE,), "explore": ONE, "generate": (10,), "heap_map": ONE, "pins": ONE,
    "read_log": ("no.log",), "read_trace": (TRACE,), "record": (["true"],), "run_sweep": ONE,
    "simulate": ONE, "simulate_all": ONE, "sites": (TRACE,), "step": ONE, "waste": ONE,
    "workload": ("robson",), "write_trace": (TRACE, "no.npz"),
}  # fmt: skip
SHARED = ("page", "resident", "largest_free", "writes", "occupied", "start", "engine", "scale")
CHECKED_ELSEWHERE = {"observer"}


def arguments():
    """Yield each keyword argument of each function."""
    for function in CALLS:
        parameters = signature(getattr(simalloc, function)).parameters.values()
        names = [one.name for one in parameters if one.kind is Parameter.KEYWORD_ONLY]
        names += SHARED if any(one.kind is Parameter.VAR_KEYWORD for one in parameters) else ()
        yield from ((function, name) for name in names if name not in CHECKED_ELSEWHERE)


@pytest.mark.parametrize(("function", "name"), list(arguments()))
@pytest.mark.parametrize("wrong", [object(), float("nan"), [3.5]])
def test_an_argument_of_a_wrong_kind_is_refused(function, name, wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SimallocError):
        getattr(simalloc, function)(*CALLS[function], **{name: wrong})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("function", "argument", "words"),
    [
        ("best_possible", {"effort": "x"}, "effort is 'x'; use a number, 0 or more, or None"),
        ("best_possible", {"effort": float("inf")}, "effort is inf; use a number"),
        ("best_possible", {"capacity": -1}, "capacity is -1; use a whole number, 0 or more"),
        ("best_possible", {"progress": 1}, "progress is 1; use True or False, or None"),
        ("simulate", {"resident": "no"}, "resident is 'no'; use True or False"),
        ("simulate", {"engine": "fast"}, "use one of core, core-portable, reference"),
        ("heap_map", {"columns": 0}, "columns is 0; use a whole number, 1 or more"),
        ("pins", {"most": True}, "most is True; use a whole number"),
        ("describe", {"added": 1 << 50}, "use a whole number from 0 to "),
        ("read_log", {"patterns": {"malloc": 5}}, "use a mapping from kinds of lines"),
        ("record", {"stacks": "deep"}, "stacks is 'deep'; use True, False, or a number"),
        ("step", {"events": (5, 2)}, r"events is \(5, 2\); use the first and the last"),
    ],
)
def test_the_message_says_what_an_argument_takes(function, argument, words):
    with pytest.raises(SimallocError, match=words):
        getattr(simalloc, function)(*CALLS[function], **argument)


def test_arguments_in_their_range_are_taken():
    found = simalloc.best_possible(TRACE, effort=0.5, capacity=140, progress=False)
    assert found.height == 140
    assert simalloc.describe(TRACE, added=0).added == 0
    assert simalloc.heap_map(*ONE, events=(0, 3), columns=3, rows=4).live.shape[1] == 3
