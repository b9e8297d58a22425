"""Kept results are of the code, the traces and the files that kept.toml names."""

from pathlib import Path

import pytest

from experiments import provenance

NOTED = provenance.entries()
NOT_MEASURED = ("coverage", "published")
"""Kept by hand: what papers print and which of it is measured."""


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
    assert {"command", "code"} <= NOTED[name].keys()
    assert ("group" in NOTED[name]) != ("input" in NOTED[name])


def test_another_placement_has_another_digest():
    first = provenance.behaviour(("first-fit-ao",))
    assert first == provenance.behaviour(("first-fit-ao",))
    assert first != provenance.behaviour(("first-fit-lifo",))


def test_the_page_shows_what_is_noted():
    assert Path(provenance.PAGE).read_text("utf-8") == provenance.page(NOTED)
