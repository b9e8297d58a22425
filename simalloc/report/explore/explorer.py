"""The widget: heap maps side by side. Its script draws them and queries the kernel."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from anywidget import AnyWidget
from traitlets import Dict, List

from simalloc.printable import printable
from simalloc.report.browser import BROWSER, SCRIPTS, asset
from simalloc.report.browser.cells import shades, shared_scales
from simalloc.report.figures.heap_map import draw_heap_maps
from simalloc.report.palettes import PALETTES, css_variables

if TYPE_CHECKING:
    from simalloc.report.explore.explored import Answer, Explored

_HERE: Final = "simalloc.report.explore"


def _style() -> str:
    light, dark = (css_variables(PALETTES[theme]) for theme in ("light", "dark"))
    themes = f'.heap-maps {{ {light} }}\n.heap-maps[data-theme="dark"] {{ {dark} }}'
    return f"{themes}\n{asset(BROWSER, 'heap_map.css')}\n{asset(_HERE, 'explore.css')}"


class Explorer(AnyWidget):
    """Heap maps that zoom to single blocks, or a still picture if no script can run."""

    _esm = f"{asset(BROWSER, *SCRIPTS)}\n{asset(_HERE, 'explore.js')}"
    _css = _style()

    maps = List(Dict()).tag(sync=True)
    shades = Dict().tag(sync=True)

    def __init__(self, runs: Sequence[Explored]) -> None:
        overviews = [run.overview for run in runs]
        self._runs = runs
        self._oldest, top = shared_scales(overviews)
        states = [run.state(self._oldest, top) for run in runs]
        super().__init__(maps=states, shades=shades())
        self.on_msg(self._asked)

    def __repr__(self) -> str:
        policies = ", ".join(state["policy"] for state in self.maps)
        return printable(f"<Explorer of {self._runs[0].trace.name}: {policies}>")

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the widget, and a still picture for viewers that cannot run its script."""
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        overviews = [run.overview for run in self._runs]
        titles = [state["policy"] for state in self.maps]
        still = draw_heap_maps(overviews, titles, soon=True).plain_png()
        shown = {"text/plain": repr(self), "image/png": b64encode(still).decode()}
        return {**(data or {}), **shown}, metadata

    def _asked(self, _: object, question: dict[str, Any], __: object) -> None:
        answer, buffers = self.answer(question)
        self.send({"number": question["number"], **answer}, buffers)

    def answer(self, question: dict[str, Any]) -> Answer:
        """Return the part of a map that the script requests: a window, a block, or the pins."""
        run: Explored = self._runs[question["map"]]
        given = question["given"]
        match question["ask"]:
            case "window":
                return run.window(**given, oldest=self._oldest)
            case "block":
                return run.block(**given)
            case _:
                return run.pins()
