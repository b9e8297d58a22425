"""A family that is compiled outside the package: the skeleton of docs/examples."""

import importlib
import shlex
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import simalloc
from simalloc.errors import PolicyError
from simalloc.heap import simulate
from simalloc.policy import HeapFamily, Policy

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    build(EXAMPLES / "walked_fit.c", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.syspath_prepend(str(EXAMPLES))
        yield importlib.import_module("walked_fit_policy").POLICY
    for name in ("walked_fit_policy", "walked_fit"):
        sys.modules.pop(name, None)


def build(source, folder):
    """Compile a family to a module, as described in docs/adding-a-policy.md."""
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    folders = [*simalloc.get_include(), sysconfig.get_path("include")]
    target = folder / f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fopenmp-simd"]
    include = [f"-I{one}" for one in folders]
    subprocess.run(
        [*compiler, "-shared", "-fPIC", *flags, *include, str(source), "-o", str(target)],
        check=True,
    )


@pytest.mark.parametrize(("name", "events"), [("espresso", 20_000), ("make", 18_000)])
@pytest.mark.parametrize("realloc", ["free-first", "move"])
def test_the_skeleton_places_as_first_fit_does(policy, name, events, realloc):
    trace = simalloc.read_trace(name).prefix(events)
    options = {"scale": 16, "realloc": realloc, "addresses": True, "resident": True}
    options["largest_free"] = True
    expected = simalloc.simulate(trace, "first-fit-ao", **options)
    run = simalloc.simulate(trace, policy, **options)
    np.testing.assert_array_equal(run.addresses, expected.addresses)
    assert run.mapped == expected.mapped
    assert run.resident == expected.resident
    assert run.largest_free == expected.largest_free
    assert run.counters == expected.counters


def test_its_heap_is_sound_after_every_event(policy):
    trace = simalloc.read_trace("make").prefix(3000)
    simulate(trace, policy, realloc="in-place", checked=True)


def test_it_refuses_what_a_capacity_does_not_allow(policy):
    trace = simalloc.read_trace("make").prefix(18_000)
    options = {"realloc": "move", "addresses": True}
    run = simulate(trace, policy.with_parameters(capacity="30K"), checked=True, **options)
    expected = simulate(trace, "first-fit-ao:capacity=30K", scale=16, **options)
    assert run.refusals == expected.refusals
    assert run.refused > 100
    np.testing.assert_array_equal(run.addresses, expected.addresses)


def test_it_may_refuse_by_rules_of_its_own(policy, tmp_path):
    source = (EXAMPLES / "walked_fit.c").read_text("utf-8").replace("walked_fit", "small_fit")
    rule = "    if (size > 4096 * heap->setting.scale)\n        return NO_BLOCK;\n"
    state = (
        "    const struct small_fit *state = (const struct small_fit *)heap;\n    uint64_t visited"
    )
    source = source.replace(state, rule + state).replace(
        "    .check = check,", "    .check = check,\n    .refuses = true,"
    )
    (tmp_path / "small_fit.c").write_text(source)
    build(tmp_path / "small_fit.c", tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        capsule = importlib.import_module("small_fit").family
    trace = simalloc.Trace.from_events(
        [0, 0, 2, 1, 0, 1], [1, 2, 2, 2, 3, 1], [9, 5000, 9, 0, 9, 0]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(policy.description), "compiled", capsule)
        run = simulate(trace, policy, checked=True, addresses=True, scale=1)
    assert (run.refused, run.first_refused_event, run.finished) == (1, 2, True)
    assert run.addresses.tolist() == [0, -2, -1, -1, 9, -1]


def test_its_parameters_are_named_as_those_of_others(policy):
    grown = policy.with_parameters(growth="64K")
    runs = simalloc.simulate_all("make", [policy, grown, "first-fit-ao"], scale=16)
    assert runs["walked-fit"].mapped == runs["first-fit-ao"].mapped
    assert runs["walked-fit:growth=64K"].peak_heap_bytes * 16 % 65536 == 0


def test_it_has_no_reference(policy):
    with pytest.raises(PolicyError, match="walked fit has no reference engine"):
        simulate(simalloc.read_trace("make"), policy, engine="reference")


def test_a_parameter_that_only_one_side_has_is_named(policy):
    @dataclass(frozen=True)
    class Wider(type(policy.description)):
        unit: int = 1

    @dataclass(frozen=True)
    class Narrower(HeapFamily):
        compiled: ClassVar[object] = policy.description.compiled

    make = simalloc.read_trace("make")
    with pytest.raises(TypeError, match="walked fit: its description has a parameter unit"):
        simalloc.simulate(make, Policy("wider", Wider()))
    with pytest.raises(TypeError, match="walked fit: the C family takes a parameter growth"):
        simalloc.simulate(make, Policy("narrower", Narrower()))


def test_what_was_compiled_for_another_layout_is_refused(policy, tmp_path):
    source = (EXAMPLES / "walked_fit.c").read_text("utf-8").replace("walked_fit", "older_fit")
    named = tmp_path / "older_fit.c"
    named.write_text(source.replace('family.h"\n', 'family.h"\n#undef OUTSIDE_LAYOUT\n'
                                    "#define OUTSIDE_LAYOUT 1\n", 1))  # fmt: skip
    build(named, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        capsule = importlib.import_module("older_fit").family
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(policy.description), "compiled", capsule)
        with pytest.raises(ValueError, match="compile it again"):
            simalloc.simulate(simalloc.read_trace("make"), policy)
