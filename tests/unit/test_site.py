"""The site: every page is on it, and what the API page lists is all there is."""

import re
from pathlib import Path

import simalloc

PROJECT = Path(__file__).parents[2]


def test_the_api_page_lists_every_public_name_once():
    page = (PROJECT / "docs" / "api.md").read_text("utf-8")
    named = re.findall(r"^\.\. auto(?:function|class):: (\w+)$", page, re.MULTILINE)
    assert sorted(named) == sorted(simalloc.__all__)


def test_the_glossary_is_in_the_order_of_the_alphabet():
    page = (PROJECT / "docs" / "glossary.md").read_text("utf-8")
    terms = re.findall(r"^([a-z][a-z ]*)$", page, re.MULTILINE)
    assert len(terms) > 20
    assert terms == sorted(terms)


def test_every_page_and_notebook_is_in_the_contents():
    contents = (PROJECT / "docs" / "index.md").read_text("utf-8")
    for page in (PROJECT / "docs").glob("*.md"):
        assert page.stem == "index" or f"\n{page.stem}\n" in contents
    assert "\n../notebooks/1-quick-start\n" in contents
    assert "\n../notebooks/[2-9]*\n" in contents
    assert len(list((PROJECT / "notebooks").glob("[1-9]-*.ipynb"))) >= 5
