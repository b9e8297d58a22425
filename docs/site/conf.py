"""Sphinx configuration of the site that `make site` builds from docs, the API and the notebooks.

The source folder is the project's root, so that links between its files work on the site too.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for glossary_links and two_themes

project = "simalloc"
copyright = "2026, the simalloc authors"  # noqa: A001 - Sphinx's name for it
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "glossary_links",
    "two_themes",
]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/**",
    "notebooks/*.ipynb",
    "simalloc/policy/*/*.md",
    "tests/README.md",
    "traces/README.md",
]

myst_enable_extensions = ["attrs_block", "attrs_inline", "deflist"]
myst_disable_syntax = ["myst_line_comment"]  # a line may start with %, after a number
myst_heading_anchors = 4
nb_execution_mode = "off"  # a test executes the notebooks and compares their outputs
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "description"
default_role = "code"
highlight_language = "bash"  # of blocks without a language: they are commands

html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_theme = "furo"
html_title = "simalloc"
html_extra_path = ["index.html"]  # redirects from the root to the first page
html_show_sphinx = False
html_copy_source = False


def setup(app):
    """Render indented lines below a colon in a docstring as code."""
    app.connect("autodoc-process-docstring", _mark_code)


def _mark_code(app, what, name, of, options, lines):
    for number in range(len(lines) - 2):
        after, code = lines[number + 1 : number + 3]
        if lines[number].endswith(":") and not after and code.startswith("    "):
            lines[number] += ":"
