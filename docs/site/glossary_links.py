"""Links the first occurrence of each glossary term on a page, without marks in the page."""

import re

from docutils import nodes
from sphinx import addnodes

GLOSSARY = "docs/glossary"
NOT_IN = (nodes.title, nodes.reference, nodes.literal, nodes.FixedTextElement, nodes.term,
          nodes.caption, addnodes.pending_xref, addnodes.desc_signature,
          addnodes.literal_strong)  # fmt: skip
"""Nodes in which a link would be lost or would disturb."""
VERBS = {"live", "pin", "sample", "split", "stack", "trim"}
"""Terms that are not linked, because most occurrences are ordinary verbs or adjectives."""
PARTICIPLES = {"committed", "mapped", "pinned", "purged", "reserved"}
MEMORY = r"(?= (?:address|block|byte|heap|memory|page|peak|range|segment))"
"""A participle is linked only before one of these nouns. Elsewhere it is part of a verb."""


def setup(app):
    """Read the terms of the glossary, and link them on every page."""
    source = (app.srcdir / f"{GLOSSARY}.md").read_text("utf-8")
    terms = [x for x in re.findall(r"^([a-z][a-z ]*)$", source, re.MULTILINE) if x not in VERBS]
    longest_first = "|".join(
        term + MEMORY if term in PARTICIPLES else term
        for term in sorted(terms, key=len, reverse=True)
    )
    word = re.compile(rf"(?<![\w-])({longest_first})(s|es)?(?![\w-])", re.IGNORECASE)
    app.connect("doctree-read", lambda app, doctree: link(doctree, app.env.docname, word))
    return {"parallel_read_safe": True, "version": "1"}


def link(doctree, page, word):
    """Link the first occurrence of each term on a page."""
    if page == GLOSSARY:
        return
    linked = set()
    for text in list(doctree.findall(nodes.Text)):
        if not any(isinstance(above, NOT_IN) for above in _above(text)):
            parts = _parts(text, page, word, linked)
            if len(parts) > 1:
                text.parent.replace(text, parts)


def _above(node):
    while node.parent is not None:
        node = node.parent
        yield node


def _parts(text, page, word, linked):
    """Return the nodes that replace a text: its parts and the links between them."""
    parts, done = [], 0
    for found in word.finditer(text):
        term = found[1].lower()
        if term in linked:
            continue
        linked.add(term)
        parts += [nodes.Text(text[done : found.start()]), _link(found[0], term, page)]
        done = found.end()
    return [*parts, nodes.Text(text[done:])]


def _link(shown, term, page):
    return addnodes.pending_xref(
        "", nodes.inline("", shown), refdomain="std", reftype="term", reftarget=term,
        refexplicit=True, refwarn=True, refdoc=page, classes=["term"],
    )  # fmt: skip
