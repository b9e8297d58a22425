"""The steps of a small heap as text, as an animated SVG, and as HTML with a slider."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Final

from simalloc.errors import SimallocError
from simalloc.heap.watch.steps import Block, Step, Steps

_WIDTH: Final = 720
"""Width of a drawing in units, including a margin on each side of the heap."""
_MARGIN: Final = 10
_BAR: Final = (34, 40)
"""Top and height of the heap's bar."""
_LIST: Final = 100
_HEIGHT: Final = 124
_MAX_LISTED: Final = 12
_TEXT_WIDTH: Final = 76
_SECONDS: Final = 1.2
"""Duration of each step of an animation in seconds."""
_FILL: Final = {"free": "#eceae4", "cached": "#f4d8a8", "table": "#c9c9c9", "waste": "#dddddd"}
_OBJECTS: Final = ("#8ec1e8", "#f0a883", "#86d3b8", "#e3b7cf", "#f3cf7a", "#a9dbf2")
_MARKS: Final = {"free": ".", "cached": "c", "table": "t", "waste": "w", "hole": " "}


def steps_text(steps: Steps) -> Iterator[str]:
    """Yield the lines of the steps: the event, the blocks to scale, and the free list in order."""
    shown = _shown_end(steps)
    yield f"{steps.trace} under {steps.policy}"
    yield "Blocks: object and size in bytes; '.' free, 'c' cached, 't' table, 'w' waste."
    for step in steps.steps:
        yield ""
        yield f"{step.event:>5}  {step.text}{_aside(step)}"
        yield f"       |{''.join(_cell(block, shown) for block in step.blocks)}"
        yield f"       free list: {_listing(step)}"


def steps_svg(steps: Steps) -> str:
    """Return an animated SVG that shows one step after the other, without a script."""
    shown, count = _shown_end(steps), max(len(steps.steps), 1)
    frames = "".join(
        f'<g class="step" style="animation-delay:{place * _SECONDS:.1f}s">{_frame(step, shown)}</g>'
        for place, step in enumerate(steps.steps)
    )
    seconds, share = f"{count * _SECONDS:.1f}s", f"{100 / count:.4f}%"
    style = (
        f"{_STYLE}.simalloc-step .step{{visibility:hidden;"
        f"animation:step {seconds} steps(1) infinite}}"
        f"@keyframes step{{0%{{visibility:visible}}{share}{{visibility:hidden}}}}"
    )
    return _svg(f"<style>{style}</style>{_title(steps)}{frames}", _HEIGHT + 20)


def steps_html(steps: Steps, *, whole_page: bool = False) -> str:
    """Return the steps as HTML with a slider and a play button. `whole_page` adds an HTML head."""
    shown = _shown_end(steps)
    frames = "".join(
        _svg(_frame(step, shown), _HEIGHT, hidden=place > 0)
        for place, step in enumerate(steps.steps)
    )
    body = (
        f'<style>{_STYLE}</style><div class="simalloc-steps"><p>'
        f"<strong>{escape(steps.trace)} under {escape(steps.policy)}</strong></p>{frames}"
        f'<p><button type="button">play</button> <input type="range" min="0" value="0" '
        f'max="{max(len(steps.steps) - 1, 0)}" aria-label="step" style="width:{_WIDTH - 90}px"></p>'
        f"</div><script>{_SCRIPT}</script>"
    )
    if not whole_page:
        return body
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<style>.simalloc-step{max-width:100%;height:auto}input{max-width:70%}</style>"
        f"<title>{escape(steps.trace)}, step by step</title>"
    )
    style = "font-family:system-ui,sans-serif;margin:2em"
    return f'<!doctype html><html lang="en"><head>{head}</head><body style="{style}">{body}</body>'


WRITERS: Final[Mapping[str, Callable[[Steps], str]]] = {
    ".html": lambda steps: steps_html(steps, whole_page=True),
    ".svg": steps_svg,
    ".txt": lambda steps: "\n".join(steps_text(steps)) + "\n",
}
"""Functions that format steps, by the suffix of the file's name."""


def steps_written(steps: Steps, suffix: str) -> str:
    """Return the content of a file of steps. Raises `SimallocError` for an unknown `suffix`."""
    if suffix not in WRITERS:
        raise SimallocError(
            f"unknown suffix {suffix!r} of a file of steps; choose one of {', '.join(WRITERS)}"
        )
    return WRITERS[suffix](steps)


_STYLE: Final = (
    ".simalloc-step{background:#fff}"
    ".simalloc-step text{font:12px system-ui,sans-serif;fill:#1b1b1b}"
    ".simalloc-step .s{font-size:10px;fill:#555}"
)
"""Style of the drawings. Every rule names their class, because a style in an SVG applies to the
whole page."""

_SCRIPT: Final = """
document.querySelectorAll(".simalloc-steps:not([data-ready])").forEach(function (box) {
  box.dataset.ready = "yes";
  const frames = box.querySelectorAll("svg"), slider = box.querySelector("input");
  const button = box.querySelector("button");
  let timer = null;
  function show() {
    frames.forEach((frame, place) => {
      frame.style.display = place == slider.value ? "" : "none";
    });
  }
  function stop() { clearInterval(timer); timer = null; button.textContent = "play"; }
  slider.oninput = show;
  button.onclick = function () {
    if (timer) { stop(); return; }
    if (slider.value == slider.max) slider.value = 0;
    button.textContent = "pause";
    timer = setInterval(function () {
      if (slider.value == slider.max) { stop(); return; }
      slider.value = Number(slider.value) + 1;
      show();
    }, 800);
    show();
  };
  show();
});
"""


def _shown_end(steps: Steps) -> float:
    """Return the address at which drawings end, just above the last block that was ever used."""
    used = max((_used_end(step) for step in steps.steps), default=0)
    whole = max((step.end for step in steps.steps), default=0)
    return min(whole, used * 1.15) or 1


def _used_end(step: Step) -> float:
    return max((b.address + b.size for b in step.blocks if b.state != "free"), default=0)


def _aside(step: Step) -> str:
    """Return the actions of the search and of the policy, in parentheses."""
    searched = [] if step.searched is None else [f"{step.searched} searched"]
    words = ", ".join([*searched, *step.changes])
    return f"  ({words})" if words else ""


def _listing(step: Step) -> str:
    sizes = {block.address: block.size for block in step.blocks}
    listed = [f"{at:g} ({sizes[at]:g})" for at in step.free_list[:_MAX_LISTED] if at in sizes]
    more = len(step.free_list) - len(listed)
    return " > ".join([*listed, *([f"{more} more"] if more else [])]) or "empty"


def _cell(block: Block, shown: float) -> str:
    """Return the drawing of a block to scale, with its object and its size if they fit."""
    size = max(min(block.size, shown - block.address), 0)
    mark = _MARKS.get(block.state, " ")
    label = f"{mark if block.object is None else block.object} {block.size:g}"
    width = max(round(size / shown * _TEXT_WIDTH), len(label))
    return f"{label:{mark if block.object is None else ' '}<{width}}|"


def _frame(step: Step, shown: float) -> str:
    """Return the drawing of one step."""
    unit = (_WIDTH - 2 * _MARGIN) / shown
    blocks = "".join(_block(block, unit, shown) for block in step.blocks if block.address < shown)
    return (
        f'<text x="{_MARGIN}" y="20"><tspan class="s">{step.event}</tspan> {escape(step.text)}'
        f'<tspan class="s">{escape(_aside(step))}</tspan></text>{blocks}'
        f'<text x="{_MARGIN}" y="{_LIST}">free list: {escape(_listing(step))}</text>'
    )


def _block(block: Block, unit: float, shown: float) -> str:
    top, height = _BAR
    left = _MARGIN + block.address * unit
    width = (min(block.address + block.size, shown) - block.address) * unit
    number = block.object
    fill = _FILL.get(block.state, "#fff") if number is None else _OBJECTS[number % len(_OBJECTS)]
    label = block.state if number is None else f"{number}"
    text = ""
    if width >= 6 * len(label) + 4:
        middle = left + width / 2
        text = (
            f'<text x="{middle:.2f}" y="{top + 17}" text-anchor="middle">{label}</text>'
            f'<text x="{middle:.2f}" y="{top + 32}" text-anchor="middle" class="s">'
            f"{block.size:g}</text>"
        )
    title = f"<title>{label}: address {block.address:g}, {block.size:g} bytes</title>"
    return (
        f'<g>{title}<rect x="{left:.2f}" y="{top}" width="{width:.2f}" height="{height}" '
        f'fill="{fill}" stroke="#1b1b1b" stroke-width="1" shape-rendering="crispEdges"/>{text}</g>'
    )


def _title(steps: Steps) -> str:
    words = escape(f"{steps.trace} under {steps.policy}")
    return f'<text x="{_MARGIN}" y="{_HEIGHT + 10}" class="s">{words}</text>'


def _svg(content: str, height: int, *, hidden: bool = False) -> str:
    style = ' style="display:none"' if hidden else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="simalloc-step" width="{_WIDTH}" '
        f'height="{height}" viewBox="0 0 {_WIDTH} {height}" role="img"{style}>{content}</svg>'
    )
