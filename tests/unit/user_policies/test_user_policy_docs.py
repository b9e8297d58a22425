"""The examples of docs/python-policies.md produce the results shown in the page."""

import doctest
import sys
from pathlib import Path

import pytest

from simalloc.heap import check, simulate
from simalloc.policy import find_policy
from simalloc.sweep import read_plan
from simalloc.trace.catalogue import load

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "python-policies.md"


def fenced(kind):
    """Return the first code block of a kind."""
    return PAGE.read_text("utf-8").partition(f"```{kind}\n")[2].partition("```")[0]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(fenced("python"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    return tmp_path


def test_the_session_is_true(folder):
    parser = doctest.DocTestParser()
    session = parser.get_doctest(PAGE.read_text("utf-8"), {}, PAGE.name, str(PAGE), 0)
    assert len(session.examples) >= 10
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(session, out=said.append)
    assert not runner.failures, "".join(said)


def test_the_plan_can_be_read(folder):
    (folder / "plan.toml").write_text(fenced("toml"))
    policies = read_plan(folder / "plan.toml").policies
    assert [one.name for one in policies] == ["mine.py:WorstFit"] * 2


def test_the_figures_of_the_examples():
    rows = [line.split("|") for line in PAGE.read_text("utf-8").splitlines() if " % | " in line]
    assert len(rows) == 7
    for _, name, *_, p2c, ghostscript, _ in rows:
        for trace, printed in (("p2c", p2c), ("ghostscript", ghostscript)):
            run = simulate(load(trace), f"{DOCS}/examples/policies.py:{name.strip(' `')}")
            measured = 100 * (run.peak_heap_bytes / run.max_live_bytes - 1)
            decimals = len(printed.strip(" %").partition(".")[2])
            assert f"{measured:.{decimals}f}" == printed.strip(" %"), (name, trace)


@pytest.mark.parametrize("name", ["HalfFit", "QuickLists:largest=1K", "ByLifetime", "BetterFit"])
def test_the_examples_pass_their_check(name):
    own = find_policy(f"{DOCS}/examples/policies.py:{name}")
    checked = check(own, load("espresso").prefix(20_000), realloc="in-place")
    assert (checked.unlisted_blocks > 0) == (name.partition(":")[0] in ("HalfFit", "QuickLists"))
