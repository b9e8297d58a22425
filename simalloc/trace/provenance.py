"""Checks of the parts of a trace's provenance that simalloc itself reads.

A provenance is a JSON object with arbitrary keys. The value of a key that simalloc reads must have
the type that simalloc writes. The type is checked when a trace is read or written, so readers of a
trace may rely on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simalloc.errors import TraceError

_MAX_NUMBER: Final = (1 << 63) - 1
_Check = Callable[[Any], bool]


def check_provenance(provenance: Mapping[str, Any]) -> None:
    """Raise `TraceError`, naming the key, if simalloc cannot read a value."""
    for key, (is_valid, kind) in _KNOWN.items():
        if key in provenance and not is_valid(provenance[key]):
            raise TraceError(
                f"its provenance is not valid: {key!r} must be {kind}. Write the trace again "
                "without that key"
            )


def has_thread_blocks(provenance: Mapping[str, Any]) -> bool:
    """Return whether the events include the C library's allocations for starting threads."""
    return "recorder" in provenance or provenance.get("thread_blocks") is True


def _file_name(value: object) -> bool:
    return isinstance(value, str) and value not in {"", ".", ".."} and not {"/", "\0"} & set(value)


def _text(value: object) -> bool:
    return isinstance(value, str)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_NUMBER


def _number(value: object) -> bool:
    return type(value) in {int, float} and 0 <= value <= _MAX_NUMBER  # type: ignore[operator]


def _whole(value: object) -> bool:
    return type(value) is int and -_MAX_NUMBER <= value <= _MAX_NUMBER


def _list_of(is_valid: _Check, length: int | None = None) -> _Check:
    def check(value: object) -> bool:
        if not isinstance(value, (list, tuple)) or length not in {None, len(value)}:
            return False
        return all(map(is_valid, value))

    return check


def _by_name(is_valid: _Check) -> _Check:
    return lambda value: isinstance(value, Mapping) and all(map(is_valid, value.values()))


_OF_MAPPING: Final = (
    "calls", "peak_mapped_bytes", "final_mapped_bytes", "resident_bytes", "final_resident_bytes",
)  # fmt: skip


def _frame(value: object) -> bool:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        return False
    function, file, line = value
    return _text(function) and _text(file) and _whole(line)


def _stacks(value: object) -> bool:
    """Return whether call paths form a tree: parents have smaller numbers, and all places exist.

    An empty object means that the trace has no call paths.
    """
    if not isinstance(value, Mapping):
        return False
    if not value:
        return True
    if not {"places", "parent", "place"} <= value.keys():
        return False
    places, parents, place = (value[name] for name in ("places", "parent", "place"))
    if not (
        _list_of(_list_of(_frame))(places)
        and _list_of(_count)(parents)
        and _list_of(_count, len(parents))(place)
    ):
        return False
    return all(parent < max(site, 1) for site, parent in enumerate(parents)) and all(
        number < len(places) for number in place
    )


def _mapping(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    texts = all(_text(value.get(key)) for key in ("function", "file"))
    return texts and all(_count(value.get(key)) for key in _OF_MAPPING)


def _device(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    figures, start = value.get("recorded", {}), value.get("start")
    if not _text(value.get("settings", "")) or not _by_name(_whole)(figures):
        return False
    if start is None:
        return True
    return (
        isinstance(start, Mapping)
        and _list_of(_count)(start.get("addresses"))
        and _list_of(_list_of(_count, 4))(start.get("segments"))
    )


def _second_malloc(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    return _text(value.get("library")) and _count(value.get("allocations"))


def _start(value: object) -> bool:
    names = {"objects", "bytes", "peak_live_bytes"}
    return isinstance(value, Mapping) and value.keys() >= names and _by_name(_count)(value)


_TEXT: Final = (_text, "text")
_COUNT: Final = (_count, "a whole number from 0 to 2^63 - 1")
_KNOWN: Final[Mapping[str, tuple[_Check, str]]] = {
    **dict.fromkeys(("program", "executable", "malloc", "started", "thp", "built_in"), _TEXT),
    **dict.fromkeys(("cores", "page", "every", "process", "parent_process", "depth"), _COUNT),
    "overcommit": (_whole, "a whole number"),
    **dict.fromkeys(("whole", "thread_blocks"), (_flag, "true or false")),
    "seed": (lambda value: type(value) is int, "a whole number"),
    "cpu_seconds": (_number, "a number of seconds"),
    "cpu_quota": (_number, "a number of cores"),
    "thread_blocks": (_flag, "true or false"),
    "command": (_list_of(_text), "a list of texts"),
    "sites": (_list_of(_text), "a list of texts"),
    "resident": (
        _list_of(_list_of(_count, 4)),
        "a list of samples, each of event, time, resident and mapped bytes",
    ),
    "stacks": (
        _stacks,
        "an object with `places`, `parent` and `place`, as docs/trace-format.md says",
    ),
    "mappings": (_list_of(_mapping), "a list of objects, as docs/trace-format.md says"),
    "second_malloc": (_second_malloc, "an object with `library` and `allocations`"),
    "live_at_start": (_start, "an object with `objects`, `bytes` and `peak_live_bytes`"),
    "heap_at_start": (_file_name, "the name of a file beside the trace"),
    "device": (_device, "an object as `simalloc import` writes it"),
}
"""Every key that simalloc reads, with the check of its value and a description of valid values."""
