"""Every policy by its name. A new combination of known parts is one more row in here."""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simalloc.errors import PolicyError
from simalloc.policy.catalogue import johnstone_wilson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simalloc.policy.description import Policy

CATALOGUE: Final[Mapping[str, Policy]] = MappingProxyType(
    {policy.name: policy for policy in johnstone_wilson.POLICIES}
)


def policy(text: str, **parameters: int | str) -> Policy:
    """Return the policy that text such as `first-fit-ao` or `first-fit-ao:growth=64K` names.

    `parameters` change further ones: `policy("first-fit-ao", growth="64K")`. Raises `PolicyError`
    if there is no such policy or parameter.
    """
    name, _, tail = text.strip().partition(":")
    if name not in CATALOGUE:
        near = get_close_matches(name, CATALOGUE, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`simalloc policies` lists them"
        raise PolicyError(f"there is no policy {name!r}; {hint}")
    given: dict[str, int | str] = {}
    for part in tail.split(",") if tail else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise PolicyError(f"{text!r}: {part!r} is not of the form NAME=VALUE")
        given[key.strip()] = value.strip()
    return CATALOGUE[name].with_parameters(**given, **parameters)


def spell(policy: Policy) -> str:
    """Return the text from which `policy()` makes this policy again."""
    return policy.spelled(CATALOGUE.get(policy.name, policy))
