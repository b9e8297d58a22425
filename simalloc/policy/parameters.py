"""The parameters and rules of a policy, for help and tables."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from simalloc.policy.description import Policy
from simalloc.policy.families.base import (
    parameter_meanings,
    parameter_ranges,
    parameter_types,
    shared_defaults,
)
from simalloc.policy.parts import Count, spell_value


class Parameter(NamedTuple):
    """A parameter of a policy."""

    name: str
    value: str
    """Default value."""
    takes: str
    meaning: str
    shared: bool
    """True if the parameter is shared with other families."""


def parameters_of(policy: Policy) -> list[Parameter]:
    """Return the parameters of a policy: its family's own first, then the shared ones."""
    family: Any = type(policy.description)
    shared, ranges, meanings = (
        shared_defaults(family),
        parameter_ranges(family),
        parameter_meanings(family),
    )
    types = parameter_types(family)
    return [
        Parameter(
            name,
            str(value if isinstance(ranges.get(name), Count) else spell_value(value)),
            str(ranges.get(name) or _takes(types.get(name))),
            meanings.get(name, ""),
            name in shared,
        )
        for name, value in policy.all_parameters.items()
    ]


def rules_of(policy: Policy) -> str:
    """Return the page with the exact rules of a policy's family, stored beside its module."""
    file = sys.modules[type(policy.description).__module__].__file__ or ""
    page = Path(file).with_suffix(".md")
    return page.read_text("utf-8") if page.is_file() else ""


def _takes(kind: Any) -> str:
    """Return a description of the values of a parameter without a range."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(str(choice.value) for choice in kind)
    return {bool: "on, off", int: "a whole number", float: "a number", str: "a text"}.get(kind, "")
