"""A policy: a named description of a family, with the source of its rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Final

from simalloc.errors import PolicyError
from simalloc.policy.families import Family
from simalloc.policy.families.base import parameter_types, shared_defaults
from simalloc.policy.parts import Value, plain_value, read_value, spell_value
from simalloc.shown import ShownAsTable

_COMMA: Final = re.compile(r",(?=(?:[^']*'[^']*')*[^']*$)")
"""A comma outside quotes: an even number of quotes follows."""


@dataclass(frozen=True, repr=False)
class Policy(ShownAsTable):
    """A named description of an allocation policy. Its text is the short spelling: `first-fit-ao`.

    Attributes
    ----------
    name : str
        Name in the catalogue.
    description : Family
        Family of the policy with its parameters.
    source : str
        Paper and section of the rules.
    reading : str
        Points that the source leaves open, and our reading of them.
    groups : tuple of str
        Groups of its row in the catalogue.
    scale : int
        Default multiplier of sizes: 1 for real allocators, whose constants are bytes, and 16 for
        policies, as in Johnstone & Wilson.

    Examples
    --------
    >>> str(simalloc.find_policy("first-fit-ao", growth="64K"))
    """

    name: str
    description: Family
    source: str = ""
    reading: str = ""
    groups: tuple[str, ...] = field(default=(), compare=False)
    scale: int = field(default=16, compare=False)

    def __str__(self) -> str:
        from simalloc.policy.catalogue import spell  # noqa: PLC0415 - the catalogue holds policies

        return spell(self)

    def __repr__(self) -> str:
        return f"<Policy {self}>"

    @property
    def family(self) -> str:
        """Family of the policy."""
        return self.description.family

    @property
    def parameters(self) -> dict[str, Value]:
        """Parameters by name as plain values: sizes in bytes, choices by their spelling.

        Parameters shared with other families are omitted if they have their default.
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
        """Every parameter by name, as a plain value."""
        family: Any = type(self.description)  # a class can be hashed, but not each of its instances
        return {
            name: plain_value(getattr(self.description, name)) for name in parameter_types(family)
        }

    def with_parameters(self, **parameters: Value) -> Policy:
        """Return the same policy with some parameters changed.

        Sizes are given as numbers or as text such as `64K`, choices by their spelling. Raises
        `PolicyError` for an unknown parameter or an invalid value.
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

    @property
    def family_defaults(self) -> dict[str, Value]:
        """Default of each parameter as a plain value; parameters without a default are omitted."""
        parts = fields(self.description)
        return {part.name: plain_value(part.default) for part in parts if part.default != MISSING}

    def spelled(self, catalogued: Policy | None) -> str:
        """Return the text that makes this policy from the `catalogued` policy of the same name.

        Without a catalogued policy, the text contains the parameters that differ from the family's
        defaults.
        """
        known = self.family_defaults if catalogued is None else catalogued.all_parameters
        return spell_parameters(self.name, self.all_parameters, known)


def read_parameters(text: str, tail: str) -> dict[str, Value]:
    """Return the parameters in the `tail` of a policy's text, such as `growth=64K,small=8`.

    A value with commas or colons is written in single quotes, in which two quotes denote one.
    Raises `PolicyError` for a text of another form, or if a parameter is given twice.
    """
    if tail.count("'") % 2:
        raise PolicyError(f"{text!r}: a single quote is not closed")
    given: dict[str, Value] = {}
    for part in split_at_commas(tail) if tail else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise PolicyError(f"{text!r}: {part!r} is not of the form NAME=VALUE")
        if key.strip() in given:
            raise PolicyError(f"{text!r}: {key.strip()} is given twice")
        given[key.strip()] = unquoted(value.strip())
    return given


def split_at_commas(text: str) -> list[str]:
    """Split a text at its commas, except commas in single quotes."""
    return _COMMA.split(text)


def spell_parameters(name: str, values: Mapping[str, Value], known: Mapping[str, Value]) -> str:
    """Return the text of a policy: its name, and the values that differ from the known values."""
    changed = [
        f"{key}={_quoted(str(spell_value(value)))}"
        for key, value in values.items()
        if key not in known or value != known[key]
    ]
    return f"{name}:{','.join(changed)}" if changed else name


def _quoted(text: str) -> str:
    """Return the text of a value, in quotes if it could be misread."""
    if text and text == text.strip() and not set(",:'") & set(text):
        return text
    return "'" + text.replace("'", "''") + "'"


def unquoted(text: str) -> str:
    """Return the contents of a value in single quotes, or the text itself if it has none."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text
