"""A policy: a family's description under a name, with where its rules come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from simalloc.errors import PolicyError
from simalloc.policy.families.base import parameter_types, shared_defaults
from simalloc.policy.parts import Value, read_value, spell_value
from simalloc.shown import ShownAsTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simalloc.policy.families import Family


@dataclass(frozen=True)
class Policy(ShownAsTable):
    """A named description of where blocks go.

    `source` cites the paper and section of the rules; `reading` says what the source leaves open
    and how it is read here.
    """

    name: str
    description: Family
    source: str = ""
    reading: str = ""

    @property
    def family(self) -> str:
        """The family that the policy belongs to."""
        return self.description.family

    @property
    def parameters(self) -> dict[str, Value]:
        """The parameters by name, in plain values: sizes in bytes, choices by their spelling.

        Those that the family shares with others are left out where they are at their defaults.
        """
        family: Any = type(self.description)
        defaults = shared_defaults(family)
        return {
            name: value
            for name, value in self.all_parameters.items()
            if name not in defaults or value != defaults[name]
        }

    @property
    def all_parameters(self) -> dict[str, Value]:
        """Every parameter by name, in plain values."""
        family: Any = type(self.description)  # can be hashed, as not all of its instances can
        return {
            name: value.value if isinstance(value, Enum) else value
            for name in parameter_types(family)
            for value in [getattr(self.description, name)]
        }

    def with_parameters(self, **parameters: Value) -> Policy:
        """Return the same policy with some parameters changed.

        Sizes are given as numbers or as text such as `64K`, choices by their spelling. Raises
        `PolicyError` for a parameter that the family does not have and a value it cannot take.
        """
        family: Any = type(self.description)
        known = parameter_types(family)
        values: dict[str, Any] = {}
        for name, value in parameters.items():
            if name not in known:
                raise PolicyError(
                    f"{self.name} has no parameter {name!r}; it has {', '.join(known)}"
                )
            values[name] = read_value(name, value, known[name])
        return replace(self, description=replace(self.description, **values))

    def spelled(self, catalogued: Policy) -> str:
        """Return the text that makes this policy of the `catalogued` one of the same name."""
        return spell_parameters(self.name, self.all_parameters, catalogued.all_parameters)


def read_parameters(text: str, tail: str) -> dict[str, Value]:
    """Return the parameters that the `tail` of a policy's text gives, as in `growth=64K,small=8`.

    Raises `PolicyError` if that is not its form, or gives one twice.
    """
    given: dict[str, Value] = {}
    for part in tail.split(",") if tail else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise PolicyError(f"{text!r}: {part!r} is not of the form NAME=VALUE")
        if key.strip() in given:
            raise PolicyError(f"{text!r}: {key.strip()} is given twice")
        given[key.strip()] = value.strip()
    return given


def spell_parameters(name: str, values: Mapping[str, Value], known: Mapping[str, Value]) -> str:
    """Return the text of a policy: its name, and the values that differ from the known ones."""
    changed = [
        f"{key}={spell_value(value)}" for key, value in values.items() if value != known[key]
    ]
    return f"{name}:{','.join(changed)}" if changed else name
