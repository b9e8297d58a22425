"""Shows pictures in a light or a dark theme: by `<picture>` on GitHub, by classes on the site."""

import re

PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">'
    r'\s*<img alt="(?P<alt>[^"]+)" src="(?P<light>[^"]+)">\s*</picture>'
)
BOTH = r"![\g<alt>](\g<light>){.only-light} ![\g<alt>](\g<dark>){.only-dark}"


def setup(app):
    """Replace the pictures of every page before Sphinx reads it."""
    app.connect("source-read", both)
    return {"parallel_read_safe": True, "version": "1"}


def both(app, page, source):
    """Replace each `<picture>` by its light and its dark picture; the theme shows one of them."""
    source[0] = PICTURE.sub(BOTH, source[0])
