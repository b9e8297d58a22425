"""Checks every link of the built site: `python docs/site/links.py out/site`.

A link to a missing file or heading is an error. Links to other sites are not tested; they are
written to elsewhere.txt.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "srcset"}


class Page(HTMLParser):
    """The links of a page, and the anchors that other pages can link to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], {"", "top"}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        """Record the anchors and the link of a tag."""
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if target := given.get(LINKS.get(tag, "")):
            self.links.append(target)


def check(site):
    """Return an error line for each broken link of a site, and all links to other sites."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    wrong, elsewhere = [], set()
    for path, page in pages.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                elsewhere.add(link)
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            if not target.exists():
                wrong.append(f"{path.relative_to(site.resolve())}: {link}: there is no such file")
            elif target in pages and unquote(address.fragment) not in pages[target].anchors:
                wrong.append(f"{path.relative_to(site.resolve())}: {link}: no such heading")
    return wrong, {link for link in elsewhere if not link.startswith("data:")}


def main():
    """Check the site named on the command line."""
    site = Path(sys.argv[1])
    wrong, elsewhere = check(site)
    listed = sorted(elsewhere)
    (site / "elsewhere.txt").write_text("".join(f"{link}\n" for link in listed))
    sys.stderr.write("".join(f"{line}\n" for line in wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
