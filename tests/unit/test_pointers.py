"""The page and section that a comment or docstring refers to exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = re.compile(r"(?<![\w/.*])((?:[\w.-]+/)*[\w.-]+\.md)(?:,\s+([A-Z][\w ]*\w))?")
SOURCES = [
    path
    for folder in ("simalloc", "tests", "experiments", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".c", ".h"} and "data" not in path.parts
]


def text_of(path):
    """Return a source as one line, without the marks at the start of comment lines."""
    return re.sub(r"\s*\n[ \t]*(?:\*|#|//)?\s*", " ", path.read_text("utf-8"))


def pages():
    """Yield each reference: its source, the page, and the section or ""."""
    for source in SOURCES:
        for page, section in PAGE.findall(text_of(source)):
            if "/" in page:
                yield source, page, section


def found(source, page):
    """Return the page's file, or None: paths begin at the root, the package, or the source."""
    places = (ROOT / page, ROOT / "simalloc" / page, source.parent / page)
    return next((place for place in places if place.is_file()), None)


def test_every_page_exists():
    known = list(pages())
    assert len(known) > 50
    assert [(str(s.relative_to(ROOT)), p) for s, p, _ in known if found(s, p) is None] == []


def test_every_section_exists():
    stale, known = [], 0
    for source, page, section in pages():
        path = found(source, page)
        if not section or path is None:
            continue
        known += 1
        text = path.read_text("utf-8")
        headings = re.findall(r"(?m)^#+ (.*)$", text) + re.findall(r"\*\*(.+?)\.?\*\*", text)
        if not any(section.startswith(one) or one.startswith(section) for one in headings):
            stale.append((str(source.relative_to(ROOT)), page, section))
    assert known > 10
    assert stale == []
