"""Plans: their runs, and the line numbers of their errors."""

from dataclasses import replace
from pathlib import Path

import pytest
from sweep_traces import small_trace

from simalloc.errors import PlanError
from simalloc.policy import GROUPS, HEAP_POLICIES, expand_policies, find_policy, spell
from simalloc.sweep.api import run_sweep
from simalloc.sweep.lines import line_of
from simalloc.sweep.planfile import plan_of, read_plan

GOOD = """# a plan
traces = [
  "logs/*.npz",
  "logs/small-1.npz",
]
scales = [1, 16]
keep = ["timelines"]

[policies.first-fit-ao]
growth = ["4K", 65536]

[policies."best-fit-*"]

[policies."lea-2.6.1"]
small = 504
growth = ["4K", "8K"]
last_remainder = ["none", "any"]
"""


def test_a_plan_is_every_combination_each_once(traces):
    path = traces.parent / "plan.toml"
    path.write_text(GOOD)
    plan = read_plan(path)
    assert [source.name for source in plan.sources] == ["small-1", "small-2", "small-3"]
    best = [name for name in HEAP_POLICIES if name.startswith("best-fit-")]
    grid = [f"{a}last_remainder={b}" for a in ("", "growth=8K,") for b in ("none", "any")]
    spelled = [spell(described) for described in plan.policies]
    assert spelled[:2] == ["first-fit-ao", "first-fit-ao:growth=64K"]
    assert spelled[2:-4] == best
    assert {name.partition(":")[0] for name in spelled[-4:]} == {"lea-2.6.1"}
    assert len(set(spelled)) == len(spelled) == 2 + len(best) + len(grid)
    tasks = plan.tasks()
    assert len(tasks) == 3 * len(spelled) * 2
    assert len({task.key for task in tasks}) == len(tasks)
    assert all(task.timeline for task in tasks)


def test_all_and_patterns_and_grids_may_name_a_policy_again():
    policies = expand_policies({"all": {}, "first-fit-*": {}, "first-fit-ao": {"growth": "4K"}})
    assert [spell(described) for described in policies] == list(HEAP_POLICIES)


def test_a_group_stands_for_its_rows():
    names = [spell(one) for one in expand_policies("@johnstone-wilson")]
    assert names == list(GROUPS["johnstone-wilson"])
    larger = expand_policies({"@johnstone-wilson": {"growth": ["4K", "16K"]}})
    assert len(larger) == 2 * len(names)
    with pytest.raises(
        PlanError, match=r"unknown group @nobody; choose one of .*@johnstone-wilson"
    ):
        expand_policies("@nobody")


def test_a_plan_without_a_realloc_rule_takes_each_policys_own():
    document = {
        "traces": [small_trace(1)],
        "policies": {"first-fit-ao": {"mechanism": ["off", "on"]}},
    }
    tasks = plan_of(document, Path()).tasks()
    assert [task.options.realloc_rule.value for task in tasks] == ["free-first", "in-place"]


def test_names_texts_and_policies_in_a_list():
    given = [find_policy("first-fit-ao", growth="64K"), "binary-buddy", "double-buddy:order=lifo"]
    spelled = [spell(described) for described in expand_policies(given)]
    assert spelled == ["first-fit-ao:growth=64K", "binary-buddy", "double-buddy:order=lifo"]


def test_a_policy_that_no_text_makes_again_is_refused():
    other = replace(HEAP_POLICIES["lea-2.6.1"], name="first-fit-ao")
    with pytest.raises(PlanError, match="is the name of another policy in the catalogue"):
        expand_policies([other])
    with pytest.raises(PlanError, match=r"mine is not in the catalogue.*simulate_all\(\) takes it"):
        run_sweep(small_trace(1), [replace(other, name="mine")])


def test_a_policy_of_another_name_is_told_from_itself_with_other_parameters():
    mine = replace(HEAP_POLICIES["first-fit-ao"], name="mine")
    spelled = [spell(one) for one in expand_policies({mine: {"growth": ["4K", "64K"]}})]
    assert spelled == ["mine:fit=first,order=ao", "mine:fit=first,order=ao,growth=64K"]


def test_a_trace_in_memory_and_workloads_are_sources(tmp_path):
    document = {
        "traces": [small_trace(1)],
        "workloads": {"lrusim": {"seed": [1, 2]}},
        "policies": {"all": {}},
    }
    names = [source.name for source in plan_of(document, tmp_path).sources]
    assert names == ["small-1", "lrusim (reconstructed), seed 1", "lrusim (reconstructed), seed 2"]


WRONG = {
    "growth = [": ("is not TOML", None),
    'scale = [16]\ntraces = ["a"]': ("did you mean scales?", 1),
    "[policies.first-fit-ao]": ("the plan has no traces", 1),
    'traces = ["logs/*.npz"]': ("no policies are given", 1),
    'traces = [\n  "logs/*.npz",\n  "no/*.npz",\n]': ("no file matches 'no/*.npz'", 3),
    'traces = [\n  "nonsense",\n]': ("neither a file nor a trace", 2),
    'traces = ["plan.toml"]': ("plan.toml", 1),
    'traces = ["logs/*.npz"]\n\n[policies.frist-fit-ao]': ("did you mean first-fit-ao", 3),
    'traces = ["logs/*.npz"]\n[policies."no-such-*"]': ("no policy matches", 2),
    'traces = ["logs/*.npz"]\n[policies.lea-2.6.1]': ('quoted, as in [policies."lea-2.6.1"]', 2),
    'traces = ["logs/*.npz"]\n[policies]\nfirst-fit-ao = 3': ("is not a table of parameters", 3),
    'traces = ["logs/*.npz"]\npolicies = ["first-fit-ao"]': ("policies are tables", 2),
    'traces = ["logs/*.npz"]\n[policies.all]\ngrowht = 1': ("no parameter 'growht'", 3),
    'traces = ["logs/*.npz"]\n[policies.all]\ngrowth = []': ("growth has no values", 3),
    'traces = ["logs/*.npz"]\n[policies.first-fit-ao]\ngrowth = [\n  "4K",\n  "4Q"]': ("'4Q'", 5),
    'traces = ["logs/*.npz"]\n[policies.first-fit-ao]\ngrowth = 4.5': ("whole number or a text", 3),
    'traces = ["logs/*.npz"]\n[policies.binary-buddy]\ngrowth = ["4K", 5000]': ("5000", 3),
    'traces = ["logs/*.npz"]\nscales = [16,\n 0]\n[policies.all]': ("scale is 0", 3),
    'traces = ["logs/*.npz"]\nscales = ["16"]\n[policies.all]': ("a whole number", 2),
    'traces = ["logs/*.npz"]\nscales = []\n[policies.all]': ("no scales", 2),
    'traces = ["logs/*.npz"]\nreallocs = ["never"]\n[policies.all]': ("realloc rule 'never'", 2),
    'traces = ["logs/*.npz"]\nkeep = "addresses"\n[policies.all]': ("cannot keep 'addresses'", 2),
    "[workloads.tetris]\n[policies.all]": ("unknown workload 'tetris'", 1),
    '[workloads.lrusim]\nseed = [1, "x"]\n[policies.all]': ("seed is 'x'", 2),
    "[workloads.lrusim]\nsize = 3\n[policies.all]": ("lrusim has keys other than seed", 1),
    "workloads = 3\n[policies.all]": ("workloads are tables", 1),
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_plan_is_refused_with_its_line(traces, text):
    reason, line = WRONG[text]
    path = traces.parent / "plan.toml"
    path.write_text(text)
    with pytest.raises(PlanError) as refused:
        read_plan(path)
    assert reason in str(refused.value)
    assert str(refused.value).startswith(f"{path}, line {line}: " if line else f"{path}: ")


@pytest.mark.parametrize("one", ["9", "["])
def test_more_digits_or_brackets_than_python_reads(tmp_path, one):
    path = tmp_path / "plan.toml"
    path.write_text(f"scales = {one * 5000}")
    with pytest.raises(PlanError, match="is not TOML"):
        read_plan(path)


def test_a_plan_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b"traces = ['\xe4']")
    for name, reason in (("none.toml", "No such file"), ("latin.toml", "UTF-8")):
        with pytest.raises(PlanError, match=reason):
            read_plan(tmp_path / name)


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        (("traces",), None, 2),
        (("traces",), "logs/small-1.npz", 4),
        (("policies", "first-fit-ao"), None, 9),
        (("policies", "first-fit-ao", "growth"), 65536, 10),
        (("policies", "best-fit-*"), None, 12),
        (("policies", "lea-2.6.1", "growth"), "8K", 16),
        (("policies", "lea-2.6.1", "not there"), None, 14),
        (("not there",), None, 2),
        ((), None, 1),
    ],
)
def test_the_line_of_a_key(key, value, line):
    assert line_of(GOOD, key, value) == line
