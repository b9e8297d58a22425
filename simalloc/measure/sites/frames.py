"""Call paths as frames: which function, in which file and line, is meant by a site's name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from simalloc.trace.sites import PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_PLACED: Final = re.compile(r"(?P<function>.*?) \((?P<file>[^()]*?):(?P<line>\d+)\)$", re.DOTALL)

WRAPPERS: Final = (
    r"\w*([MmCc]|[Rr]e|[Zz]|[Vv]|val|[Mm]em_?|aligned_?|safesys\w)alloc\w*|_*alloc(ate|_?mem\w*)?",
    r"\w*(str|mem|wcs)n?dup\w*|\w*memalign",
    r"g_(slice|memdup|strdup|new)\w*",
    r"operator new.*",
    r"(std|__gnu_cxx|__cxx11|__gnu_debug|boost|absl|eastl)::.*",
    r"<?(alloc|core|std|hashbrown)::.*|__rust_\w+|__rdl_\w+|<.* as (alloc|core)::.*",
    r"<(str|\[.*\])>::.*",
    r"Py(Mem|Object|DataMem|Mem_Raw)_\w*|_Py(Mem|Object)_\w*|PyType_GenericAlloc|_PyObject_GC_\w*",
    r"Perl_safesys\w+|sqlite3Mem\w+",
)
"""Functions that allocate for others: who called them is meant."""


class Frame(NamedTuple):
    """One function of a call path; `file` is empty and `line` 0 where they are not known."""

    function: str
    file: str = ""
    line: int = 0

    @property
    def is_wrapper(self) -> bool:
        """Whether the function allocates for others."""
        return is_wrapper(self.function)


def is_wrapper(function: str, more: Sequence[str] = ()) -> bool:
    """Say whether a function allocates for others: by `WRAPPERS`, or by more patterns."""
    return bool(_matching(tuple(more))(function))


@lru_cache
def _matching(more: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in (*WRAPPERS, *more))).fullmatch


def frames_of(name: str) -> list[Frame]:
    """Return the frames of a site's name, the innermost first."""
    return [_frame(part) for part in name.split(PATH)]


@lru_cache(maxsize=1 << 16)
def _frame(part: str) -> Frame:
    placed = _PLACED.match(part)
    if placed is None:
        return Frame(part)
    return Frame(placed["function"], placed["file"], int(placed["line"]))


def folded(path: Sequence[Frame], more: Sequence[str] = ()) -> Sequence[Frame]:
    """Return a path from its innermost frame on that is no wrapper; the whole if all are."""
    inner = next((place for place, each in enumerate(path) if not is_wrapper(each[0], more)), 0)
    return path[inner:]


def guilty_frame(path: Sequence[Frame], more: Sequence[str] = ()) -> Frame:
    """Return the innermost frame that is no wrapper; the innermost if all are."""
    return folded(path, more)[0]


def common_frame(frames: Iterable[Frame]) -> Frame:
    """Return one frame of a function for several, without a line if theirs are not the same."""
    first, *others = frames
    return first if all(each == first for each in others) else first._replace(line=0)
