"""The page of generated workloads equals its template, without the minutes of a run."""

import re
from string import Formatter

from experiments.provenance import DOCS, FOLDER
from experiments.shipped import shipped
from experiments.synthetic.measuring import MAX_OBJECTS, POLICIES
from experiments.synthetic.page import PAGE


def template_pattern():
    """Return the template as a pattern: a fact is a group, and a repeated fact must be equal."""
    words = " ".join((FOLDER / "synthetic" / "page.md").read_text("utf-8").split())
    groups: dict[str, str] = {}
    pattern = ""
    for literal, field, _, _ in Formatter().parse(words):
        pattern += re.escape(literal)
        if field in groups:
            pattern += f"(?P={groups[field]})"
        elif field is not None:
            groups[field] = re.sub(r"\W", "_", field)
            figure = ".+" if field.startswith("tables") else r"[\d.,]+(?: to [\d.,]+)?"
            pattern += f"(?P<{groups[field]}>{figure})"
    return pattern


def test_the_page_in_docs_has_the_words_of_the_template():
    page = " ".join((DOCS / PAGE).read_text("utf-8").split())
    found = re.fullmatch(template_pattern(), page)
    assert found, f"experiments/synthetic/page.md and docs/{PAGE} differ in their words"
    assert found["policies"] == str(len(POLICIES))
    assert found["objects"] == f"{MAX_OBJECTS:,}"
    programs = [name for name, entry in shipped().items() if entry.kind == "recorded"]
    assert found["programs"] == str(len(programs))
    assert re.findall(r"\| ([\w-]+) (?=\| [\d.]+ \|)", found["tables_programs_"]) == programs
