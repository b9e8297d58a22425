"""Flame graphs of call paths: the data for the script, and the figure that the script fills."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.measure.sites import Frame, Profile, Tree, Way, trees_of
from simalloc.report.browser.embedded import embedded_json

_ASKED: Final = {
    "live_bytes": "live at the peak",
    "final_bytes": "live at the end",
    "allocated_bytes": "allocated",
}
_HELD: Final = {
    "pinned_bytes": "pinned",
    "shared_bytes": "shared",
    "wasted_bytes": "wasted",
}
"""Measures for the width of boxes. The measures of a heap come first."""
_COLOURS: Final = ("pinned_bytes", "live_bytes", "wasted_bytes")
_MIN_SHARE: Final = 0.001
"""Boxes with less than this share of the total, in all measures, are invisible and not drawn."""
_WAYS: Final[tuple[Way, ...]] = ("top-down", "bottom-up")


def flame_data(profiles: Mapping[str, Profile]) -> dict[str, Any]:
    """Return the data of a flame graph: profiles of one trace by policy ("" without a policy)."""
    first = next(iter(profiles.values()))
    names = [*(name for name in _HELD if name in first.values), *_ASKED]
    frames: dict[Frame, int] = {}
    whole = {way: trees_of(profiles, way) for way in _WAYS}
    trees = {way: _tree(whole[way], frames, names) for way in _WAYS}
    ends = next(iter(whole["top-down"].values())).ends
    kept = trees["top-down"].pop("kept")
    trees["bottom-up"].pop("kept")
    return {
        "policies": list(profiles),
        "measures": [{"key": name, "words": (_HELD | _ASKED)[name]} for name in names],
        "colours": [name for name in _COLOURS if name in names],
        "frames": [[frame.function, frame.file, frame.line] for frame in frames],
        "trees": trees,
        # node at which the path of each site ends in the top-down tree
        "sites": dict(zip(first.sites, kept[ends].tolist(), strict=True)),
    }


def _tree(trees: Mapping[str, Tree], frames: dict[Frame, int], names: list[str]) -> dict[str, Any]:
    """Return the large nodes of a tree, renumbered. `kept` maps each node to the nearest large one.

    The parent of a large node is large.
    """
    one = next(iter(trees.values()))
    large = np.zeros(len(one), bool)
    for tree in trees.values():
        for name in names:
            amounts = tree.totals[name]
            large |= amounts > _MIN_SHARE * amounts[0]
    large[0] = True
    number = np.cumsum(large) - 1
    kept: NDArray[np.int64] = np.zeros(len(one), np.int64)
    for node, parent in enumerate(one.parents.tolist()):
        kept[node] = number[node] if large[node] else kept[parent]
    nodes = np.flatnonzero(large)
    return {
        "parents": [-1, *number[one.parents[nodes[1:]]].tolist()],
        "frames": [frames.setdefault(one.frames[node], len(frames)) for node in nodes.tolist()],
        "totals": {
            policy: [np.rint(tree.totals[name][nodes]).astype(np.int64).tolist() for name in names]
            for policy, tree in trees.items()
        },
        "kept": kept,
    }


_LABELS: Final = {
    "way": "direction of the calls",
    "policy": "policy",
    "width": "measure of the widths",
    "colour": "measure of the colours",
}


def flame_figure(key: str, data: dict[str, Any]) -> str:
    """Return the figure of a flame graph, which the script fills; `key` is its identifier."""
    words = {each["key"]: each["words"] for each in data["measures"]}
    choices = {
        "way": {"top-down": "from main down", "bottom-up": "from allocating code up"},
        "policy": {name: f"heap of {name}" for name in data["policies"] if name},
        "width": {name: f"width: {said}" for name, said in words.items()},
        "colour": {name: f"colour: {words[name]}" for name in data["colours"]},
    }
    selects = "".join(
        f'<select data-choice="{name}" aria-label="{_LABELS[name]}">'
        + "".join(
            f'<option value="{escape(value)}">{escape(said)}</option>'
            for value, said in options.items()
        )
        + "</select>"
        for name, options in choices.items()
        if len(options) > 1
    )
    return (
        f'<figure class="flame" data-flame="{key}" id="{key}">\n<div class="tools">{selects}'
        '<input type="search" placeholder="search (/)" aria-label="search functions and files">'
        '<button data-do="out">all</button></div>\n'
        '<p class="found" role="status"></p>\n'
        '<div class="boxes" role="tree" aria-label="Flame graph of call paths"></div>\n'
        '<p class="under" aria-live="polite">Point at a box for details; click to zoom in.</p>\n'
        f"{embedded_json(data)}\n</figure>"
    )
