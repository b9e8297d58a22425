"""Call paths as frames: the function, file and line behind a site's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

from simalloc.trace.sites import PATH, site_name, spelled

_PLACED: Final = re.compile(r"(?P<function>.*?) \((?P<file>[^()]*?):(?P<line>\d+)\)$", re.DOTALL)

WRAPPERS: Final = (
    r"(\w+::)*\w*([MmCc]|[Rr]e|[Zz]|[Vv]|val|[Mm]em_?|aligned_?|safesys\w)alloc\w*|_*alloc(ate|_?mem\w*)?",
    r"\w*(str|mem|wcs)n?dup\w*|\w*memalign",
    r"g_(slice|memdup|strdup|new)\w*",
    r"operator new.*|__cxa_allocate_exception|.*/lib(std)?c\+\+\.so.*",
    r"(std|__gnu_cxx|__cxx11|__gnu_debug|boost|absl|eastl)::.*",
    r"<?(alloc|core|std|hashbrown)::.*|__rust_\w+|__rdl_\w+|<.* as (alloc|core)::.*",
    r"<(str|\[.*\])>::.*",
    r"Py(Mem|Object|DataMem|Mem_Raw)_\w*|_Py(Mem|Object)_\w*|PyType_GenericAlloc|_PyObject_GC_\w*",
    r"Perl_safesys\w+|sqlite3Mem\w+",
    r"_(_GI__)?IO_\w+|allocate_(dtv|stack)|_dl_allocate_tls",
)
"""Allocation wrappers, whose callers are charged."""

_LIBRARIES: Final = re.compile(r".*/include/c\+\+/.*|/rustc/\w+/library/.*").match
"""Files of the languages' own libraries, whose functions may lack their `std::`."""

_PYTHONS_OWN: Final = re.compile(
    r"<frozen (importlib\b.*|runpy|zipimport)>|.*/(runpy|importlib/\w+)\.py"
    r"|.*/(Python/(ceval|import)|Objects/(call|methodobject))\.c|.*/pycore_(call|ceval)\.h"
).fullmatch
"""Files of Python's import system and of CPython's evaluator, whose functions only call others."""
_EXEC: Final = ("builtin_exec", "builtin_exec_impl")
"""Built-in functions that execute an imported module."""

_SHORT: Final = 5
"""Maximum number of frames in a short name."""


MAX_FRAMES: Final = 256
"""Maximum number of frames kept of a call path, which is also the recorder's maximum."""
_OUTERMOST: Final = 224


class Frame(NamedTuple):
    """One function of a call path; `file` is empty and `line` 0 if unknown."""

    function: str
    file: str = ""
    line: int = 0

    @property
    def short(self) -> Frame:
        """The frame with a file name without folders, but with the package of an `__init__.py`."""
        folders, _, name = self.file.rpartition("/")
        package = folders.rpartition("/")[2]
        return self._replace(file=f"{package}/{name}" if name == "__init__.py" else name)


LEFT_OUT: Final = Frame("(frames of a deep call path)")
"""Placeholder for the omitted frames in the middle of a long path."""


def is_wrapper(frame: Frame, more: Sequence[str] = ()) -> bool:
    """Return whether a function is an allocation wrapper.

    The criteria are `WRAPPERS`, the file of the function, and the patterns in `more`.
    """
    return bool(_matching(tuple(more))(frame.function) or _LIBRARIES(frame.file))


@lru_cache
def _matching(more: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in (*WRAPPERS, *more))).fullmatch


def call_path(provenance: Mapping[str, Any], site: int) -> list[Frame]:
    """Return the frames of a site, the innermost first."""
    return [_frame(part) for part in site_name(provenance, site).split(PATH)]


def call_paths(provenance: Mapping[str, Any], sites: Iterable[int]) -> list[list[Frame]]:
    """Return the frames of several sites, each as in `call_path`.

    Each caller is visited once, whatever the number of sites below it. If a path has more than
    `MAX_FRAMES` frames, for example in a deep recursion, only its innermost and outermost frames
    are kept. Without this limit, a chain of n calls that all allocate would have n * n / 2 frames.
    """
    stacks = provenance.get("stacks")
    if not isinstance(stacks, Mapping) or not stacks:
        return [call_path(provenance, site) for site in sites]
    places = [[_frame(spelled(tuple(each))) for each in place] for place in stacks["places"]]
    known: dict[int, list[Frame]] = {0: []}
    paths = []
    for site in sites:
        unknown, above = [], site
        while above not in known and above < len(stacks["parent"]):
            unknown.append(above)
            above = stacks["parent"][above]
        for each in reversed(unknown):
            known[each] = _shortened(places[stacks["place"][each]] + known[above])
            above = each
        paths.append(known.get(site) or call_path(provenance, site))
    return paths


def _shortened(path: list[Frame]) -> list[Frame]:
    """Return a path without its middle frames; paths with a common end still share frames."""
    if len(path) <= MAX_FRAMES:
        return path
    return [*path[: MAX_FRAMES - _OUTERMOST - 1], LEFT_OUT, *path[-_OUTERMOST:]]


def short_name(provenance: Mapping[str, Any], site: int) -> str:
    """Return the name of a site with a few frames, from the innermost non-wrapper outwards."""
    return _short_path(call_path(provenance, site))


def short_names(provenance: Mapping[str, Any], sites: Sequence[int]) -> list[str]:
    """Return the short names of several sites; "" for site 0."""
    paths = call_paths(provenance, sites)
    return [_short_path(path) if site else "" for site, path in zip(sites, paths, strict=True)]


def _short_path(path: Sequence[Frame]) -> str:
    frames = islice(_without_pythons_own(folded(path)), _SHORT)
    return PATH.join(spelled(frame.short) for frame in frames)


@lru_cache(maxsize=1 << 16)
def _frame(part: str) -> Frame:
    placed = _PLACED.match(part)
    if placed is None:
        return Frame(part)
    return Frame(placed["function"], placed["file"], int(placed["line"]))


def folded(path: Sequence[Frame], more: Sequence[str] = ()) -> Sequence[Frame]:
    """Return a path from its innermost non-wrapper, or the whole path if all are wrappers."""
    inner = next((place for place, each in enumerate(path) if not is_wrapper(each, more)), 0)
    return path[inner:]


def without_pythons_own(path: Sequence[Frame]) -> list[Frame]:
    """Return a path without the callers in Python's import system and evaluator.

    A nested import adds five frames of `importlib`, which obscure the modules between them. The
    innermost frame always stays.
    """
    return list(_without_pythons_own(path))


def _without_pythons_own(path: Sequence[Frame]) -> Iterator[Frame]:
    yield path[0]
    yield from (frame for frame in islice(path, 1, None) if not _is_pythons_own(frame))


@lru_cache(maxsize=1 << 16)
def _is_pythons_own(frame: Frame) -> bool:
    return frame.function in _EXEC or bool(_PYTHONS_OWN(frame.file))


def common_frame(frames: Iterable[Frame]) -> Frame:
    """Return one frame for several frames of a function, without a line unless all are equal."""
    first, *others = frames
    return first if all(each == first for each in others) else first._replace(line=0)
