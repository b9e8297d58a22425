"""Flame graph as a self-contained page, which a notebook shows in a frame."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from string import Template
from typing import Final

from simalloc.files import replacing
from simalloc.measure.sites import Profile
from simalloc.printable import printable
from simalloc.report.browser import BROWSER, asset
from simalloc.report.browser.flame import flame_data, flame_figure
from simalloc.report.palettes import PALETTES, css_variables

_PAGE: Final = Template("""\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>$title</title>
<style>
:root { $light }
@media (prefers-color-scheme: dark) { :root { $dark } }
body { margin: 0; padding: 0.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "DejaVu Sans", Verdana, sans-serif; }
figure { margin: 0; }
$style
</style></head><body>
$figure
<script>
$script
startFlames();
document.documentElement.dataset.ready = "yes";
</script></body></html>
""")
_HEIGHT: Final = 460
"""Height of the frame in a notebook, in pixels; the reader scrolls to deeper boxes."""


@dataclass(frozen=True, eq=False)
class FlameGraph:
    """Profiles of one trace as boxes, by policy; "" is the trace without a policy."""

    name: str
    profiles: Mapping[str, Profile]

    def __repr__(self) -> str:
        return printable(f"<FlameGraph: {self.name}>")

    def page(self) -> str:
        """Return the flame graph as a self-contained HTML page."""
        return _PAGE.substitute(
            title=escape(f"Which code: {self.name}"),
            light=css_variables(PALETTES["light"]),
            dark=css_variables(PALETTES["dark"]),
            style=asset(BROWSER, "flame.css"),
            figure=flame_figure("flame", flame_data(self.profiles)),
            script=asset(BROWSER, "units.js", "flame.js"),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file. Raises `OSError` if the file cannot be written."""
        with replacing(path) as stream:
            stream.write(self.page().encode())

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.page())}" title="Flame graph of {escape(self.name)}" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )
