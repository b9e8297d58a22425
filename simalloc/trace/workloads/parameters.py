"""Parameters of generated workloads as text, `lognormal:median=64,sigma=1.2`, and their ranges."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from numbers import Integral
from typing import Final

from simalloc.errors import SimallocError
from simalloc.sizes import FACTORS
from simalloc.trace.events import MAX_SIZE

MAX_OBJECTS: Final = 1 << 28
_ANY: Final = (0.0, float(MAX_SIZE))
_SHARE: Final = (0.0, 1.0)
_RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "sigma": (0, 20),
    "alpha": (0, 20),
    "old": _SHARE,
    "kept": _SHARE,
    "width": _SHARE,
    "periods": (1, MAX_OBJECTS),
    "height": (0, 1e6),
}
"""The minimum and maximum of the parameters that are neither sizes nor lifetimes."""
_TEXTS: Final = frozenset({"file", "trace"})


def read_parameters(
    text: object, known: Mapping[str, Collection[str]], what: str
) -> tuple[str, dict[str, float | str]]:
    """Return the name and the parameters in a text such as `uniform:min=16,max=4K`.

    `known` contains the parameters of each name. `what` is the word for a name in errors. Raises
    `SimallocError` for an unknown name or parameter, or for a value out of range.
    """
    if not isinstance(text, str):
        raise SimallocError(f"{what} is {text!r}; use text such as {next(iter(known))!r}")
    name, _, tail = text.strip().partition(":")
    if name not in known:
        raise SimallocError(f"unknown {what} {name!r}; choose one of {', '.join(known)}")
    given: dict[str, float | str] = {}
    for part in filter(None, tail.split(",")):
        key, _, value = part.partition("=")
        if key not in known[name]:
            has = ", ".join(known[name]) or "none"
            raise SimallocError(f"{name} has no parameter {key!r}; it has {has}")
        if key in given:
            raise SimallocError(f"{text!r}: {key} is given twice")
        given[key] = value if key in _TEXTS else _read_number(key, value)
    return name, given


def _read_number(name: str, text: str) -> float:
    factor = FACTORS.get(text[-1:].upper(), 1)
    try:
        number = float(text[:-1] if factor > 1 else text) * factor
    except ValueError:
        number = math.nan
    low, high = _RANGES.get(name, _ANY)
    if not low <= number <= high:
        raise SimallocError(f"{name} is {text!r}; use a number from {low:,.0f} to {high:,.0f}")
    return number + 0.0  # avoids a negative zero


def check_number(name: str, value: object, low: float, high: float, *, whole: bool = False) -> None:
    """Raise `SimallocError` unless a value is a number, or an integer if `whole`, in a range."""
    kind = "a whole number" if whole else "a number"
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not low <= value <= high
        or (whole and not float(value).is_integer())
    ):
        raise SimallocError(f"{name} is {value!r}; use {kind} from {low:,} to {high:,}")


def whole_seed(seed: object) -> int:
    """Return a seed as a plain int. Raise `SimallocError` unless it is an integer of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise SimallocError(f"seed is {seed!r}; use a whole number of at least 0")
    return int(seed)
