"""Stored results agree with the code, the traces and the files that kept.toml names."""

from pathlib import Path

import pytest

from experiments import made, provenance

NOTED = provenance.entries()
MADE = made.pages()
WITHOUT_ORIGIN = {"synthetic"}
"""Experiments whose page mostly describes a command."""
NOT_MEASURED = ("coverage", "published")
"""Files written by hand, which contain printed figures or the coverage of a paper."""


def test_every_kept_file_is_listed():
    found = {
        str(path.relative_to(provenance.FOLDER))
        for suffix in ("csv", "json")
        for path in provenance.FOLDER.rglob(f"*.{suffix}")
        if not any(word in str(path.relative_to(provenance.FOLDER)) for word in NOT_MEASURED)
    }
    assert found == set(NOTED)


@pytest.mark.parametrize("name", NOTED)
def test_no_kept_file_is_older_than_what_it_depends_on(name):
    entry = NOTED[name]
    now = provenance.digests(name, entry)
    again = f"measure it again by `{entry['command']}`, then `python -m experiments.provenance`"
    assert {key: entry.get(key) for key in now} == now, again


@pytest.mark.parametrize("name", NOTED)
def test_a_file_without_a_policy_says_why(name):
    assert ("policies" in NOTED[name]) != ("reason" in NOTED[name])
    assert {"command", "code", "module"} <= NOTED[name].keys()
    assert ("group" in NOTED[name]) != ("input" in NOTED[name])


@pytest.mark.parametrize("name", MADE)
def test_no_page_is_older_than_what_it_depends_on(name):
    entry = MADE[name]
    now = provenance.digests_of_page(entry)
    again = f"`{entry['command']}`, then `python -m experiments.provenance {entry['page']}`"
    assert {key: entry.get(key) for key in now} == now, again


@pytest.mark.parametrize("name", MADE)
def test_each_page_ends_with_what_made_it(name):
    text = (provenance.DOCS / MADE[name]["page"]).read_text("utf-8")
    assert text.endswith(f"\n\n{made.line(name)}\n")


def test_every_page_of_an_experiment_is_listed():
    makers = {path.parent.name for path in provenance.FOLDER.glob("*/page.md")}
    assert makers - WITHOUT_ORIGIN == set(MADE)


def test_another_placement_has_another_digest():
    first = provenance.behaviour(("first-fit-ao",), ("cfrac",))
    assert first == provenance.behaviour.__wrapped__(("first-fit-ao",), ("cfrac",))
    assert first != provenance.behaviour(("first-fit-lifo",), ("cfrac",))


def test_other_resident_bytes_have_another_digest():
    names = ("ptmalloc", "ptmalloc:top_pad=1M")
    digests = {provenance.behaviour((name,), ("cfrac",), resident=True) for name in names}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("text", "ends"),
    [("# A\n\nWords.", "Words.\n\nNew.\n"), ("# A\n\nWords.\n\nOld.\n", "Words.\n\nNew.\n")],
)
def test_the_last_line_of_a_page_is_replaced(text, ends):
    assert provenance.with_line(text, "Old.", "New.") == f"# A\n\n{ends}"


def test_a_changed_kept_file_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "FOLDER", tmp_path)
    (tmp_path / "kept.csv").write_text("a,b\n1,2\n")
    entry = {"policies": ["first-fit-ao"], "module": "experiments.growth.measuring"}
    noted = provenance.digests("kept.csv", entry)
    (tmp_path / "kept.csv").write_text("a,b\n1,3\n")
    now = provenance.digests("kept.csv", entry)
    assert noted["behaviour"] == now["behaviour"]
    assert noted["experiment"] == now["experiment"]
    assert noted["sha256"] != now["sha256"]


def test_the_page_shows_what_is_noted():
    assert Path(provenance.PAGE).read_text("utf-8") == provenance.page(NOTED, MADE)
