"""Pictures in two themes: GitHub chooses by `<picture>`, the site by classes."""

import re

PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">'
    r'\s*<img alt="(?P<alt>[^"]+)" src="(?P<light>[^"]+)">\s*</picture>'
)
BOTH = r"![\g<alt>](\g<light>){.only-light} ![\g<alt>](\g<dark>){.only-dark}"


def setup(app):
    """Put both pictures on every page that is read."""
    app.connect("source-read", both)
    return {"parallel_read_safe": True, "version": "1"}


def both(app, page, source):
    """Replace each `<picture>` of a page by the two, of which the theme shows one."""
    source[0] = PICTURE.sub(BOTH, source[0])
