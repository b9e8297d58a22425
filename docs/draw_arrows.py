"""Draw the includes between files of the C core at two commits: `python docs/draw_arrows.py`.

A dot is a file (a .c with the .h of the same name), and a line is an include. Blue lines point
down, and red lines point up. Rows are the folders of the core. At a commit without folders, a row
contains the files whose longest chain of includes has the same length.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORE = "simalloc/heap/core"
BEFORE = "4c48d0a"
"""The last commit before the core had these folders."""
OUTSIDE = "simalloc_family.h"
"""Header for families outside the package, in no folder."""
FOLDERS = ("binding", "user_policies", "families", "parts", "replay", "layers", "index", "space")


def files_of(commit: str) -> dict[str, set[str]]:
    """Return the files of the core at a commit, each with the files that it includes."""
    listed = _git("ls-tree", "-r", "--name-only", commit, CORE).split()
    names = [name for name in listed if name[-2:] in {".c", ".h"} and not name.endswith(OUTSIDE)]
    known = {_stem(name) for name in names}
    found: dict[str, set[str]] = {name: set() for name in known}
    for name in names:
        for path in re.findall(r'#include "([^"]+)\.h"', _git("show", f"{commit}:{name}")):
            found[_stem(name)] |= {path} & known - {_stem(name)}
    return found


def rows_of(files: dict[str, set[str]]) -> dict[str, int]:
    """Return the row of each file, counted from below."""
    if any("/" in name for name in files):
        return {name: len(FOLDERS) - 1 - FOLDERS.index(name.partition("/")[0]) for name in files}
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        if name not in depth:
            depth[name] = 0
            depth[name] = max((1 + deep(other) for other in files[name]), default=0)
        return depth[name]

    return {name: deep(name) for name in files}


def draw(axes: Axes, title: str, files: dict[str, set[str]]) -> None:
    """Draw the files of a commit."""
    rows = rows_of(files)
    place = {}
    for row in set(rows.values()):
        members = sorted(name for name in files if rows[name] == row)
        for i, name in enumerate(members):
            place[name] = ((i + 0.5) / len(members), row)
    for name, others in files.items():
        for other in others:
            (x, y), (to_x, to_y) = place[name], place[other]
            color = "tab:red" if to_y > y else "tab:blue"
            axes.plot([x, to_x], [y, to_y], color=color, alpha=0.35, lw=0.7, zorder=1)
    across, up = zip(*place.values(), strict=True)
    axes.scatter(across, up, s=14, color="black", zorder=2)
    arrows = sum(map(len, files.values()))
    axes.set_title(f"{title}: {len(files)} files, {arrows} includes", fontsize=10)
    axes.set_xticks([])
    has_folders = any("/" in name for name in files)
    axes.set_yticks(range(len(FOLDERS)), FOLDERS[::-1]) if has_folders else axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)


def _git(*arguments: str) -> str:
    return subprocess.run(  # noqa: S603 - arguments of functions in here
        ["git", *arguments],  # noqa: S607 - whichever git there is
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def _stem(name: str) -> str:
    return str(PurePosixPath(name).relative_to(CORE).with_suffix(""))


if __name__ == "__main__":
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    draw(left, "before", files_of(BEFORE))
    draw(right, "now", files_of(sys.argv[1] if sys.argv[1:] else "HEAD"))
    figure.savefig("docs/images/core-arrows.png", dpi=110)
