"""Every policy by its name. A new combination of known parts is one more row in here."""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simalloc.errors import PolicyError
from simalloc.policy.catalogue import johnstone_wilson
from simalloc.policy.description import Policy, read_parameters
from simalloc.policy.python import OwnPolicy, PythonPolicy, is_own, own_policy, policy_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simalloc.policy.parts import Value

CATALOGUE: Final[Mapping[str, Policy]] = MappingProxyType(
    {policy.name: policy for policy in johnstone_wilson.POLICIES}
)


AnyPolicy = Policy | PythonPolicy | type[PythonPolicy] | str
"""A policy, text that names one, or the Python code of one's own."""


def policy(text: AnyPolicy, **parameters: Value) -> Policy:
    """Return the policy that text such as `first-fit-ao` or `first-fit-ao:growth=64K` names.

    `mine.py:WorstFit` is a class in a file, which is executed; a policy of one's own may also be
    given itself, as its class or an object of it. `parameters` change further ones:
    `policy("first-fit-ao", growth="64K")`. Raises `PolicyError` if there is no such policy or
    parameter.
    """
    if isinstance(text, Policy):
        return text.with_parameters(**parameters) if parameters else text
    if not isinstance(text, str):
        return policy_of(text, **parameters)
    if is_own(text):
        return own_policy(text, parameters)
    name, _, tail = text.strip().partition(":")
    if name not in CATALOGUE:
        near = get_close_matches(name, CATALOGUE, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`simalloc policies` lists them"
        raise PolicyError(f"there is no policy {name!r}; {hint}")
    given = read_parameters(text, tail)
    return CATALOGUE[name].with_parameters(**{**given, **parameters})


def spell(policy: Policy) -> str:
    """Return the text from which `policy()` makes this policy again."""
    return policy.spelled(CATALOGUE.get(policy.name, policy))


def spell_exactly(policy: Policy) -> str:
    """Return the text that names this policy and no other, also after its code has changed."""
    return policy.exact if isinstance(policy, OwnPolicy) else spell(policy)
