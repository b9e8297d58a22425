"""Looks at every page of the built site in a headless Chromium: dark and light, phone and desktop.

    make site && python tests/site/look.py FOLDER [PAGE...]

FOLDER gets a PNG a page and look. It says, and fails for: what sticks out of the window, pictures
that are not there, text that hardly differs from what it stands on, and what the browser complains
of.
"""

import argparse
import sys
import tempfile
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import chromium  # noqa: E402 - lies in the folder above

SITE = ROOT / "out" / "site"
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
LEAST_CONTRAST = 3.0  # WCAG 2.2 asks 4.5 of small text, 3 of large
COMPLAINTS = {"error", "warning"}

WRONG = """
((width, least) => {
  const wrong = [];
  const wide = document.documentElement.scrollWidth;
  if (wide > width) wrong.push(`sticks out: ${wide} of ${width} pixels`);
  for (const image of document.images)
    if (image.complete && !image.naturalWidth) wrong.push(`no picture: ${image.src}`);
  const parts = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const under = (element) => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if ((parts(colour)[3] ?? 1) > 0.5) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  for (const element of document.querySelectorAll("article *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.offsetParent || element.closest("svg, .headerlink")) continue;
    const ink = light(getComputedStyle(element).color), paper = light(under(element));
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    const text = element.textContent.slice(0, 40);
    if (contrast < least) wrong.push(`contrast ${contrast.toFixed(1)}: ${text}`);
  }
  return [...new Set(wrong)].slice(0, 8);
})(%s, %s)
"""


def look(page, path, target, size, *, dark):
    """Take a picture of a page, and return what is wrong with it."""
    page.open(path, *SIZES[size], dark=dark, ready="true")
    wrong = page.evaluate(WRONG % (SIZES[size][0], LEAST_CONTRAST))
    wrong += [
        text
        for said in page.complaints()
        if (text := said.get("entry", {}).get("text")) and said["entry"]["level"] in COMPLAINTS
    ]
    target.write_bytes(page.picture(whole=True))
    return wrong


def main():
    """Look at the pages named on the command line, or at all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    every = {str(path.relative_to(SITE).with_suffix("")) for path in SITE.rglob("*.html")}
    names = asked.pages or sorted(every - {"index"})  # which only leads to the first page
    failed = False
    with tempfile.TemporaryDirectory() as profile, chromium.browser(profile) as page:
        for name, size, dark in product(names, SIZES, (False, True)):
            theme = "dark" if dark else "light"
            target = asked.folder / f"{name.replace('/', '-')}-{size}-{theme}.png"
            for fault in look(page, SITE / f"{name}.html", target, size, dark=dark):
                failed = True
                sys.stdout.write(f"{name}, {size}, {theme}: {fault}\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
