"""Every policy by its name. A new combination of known parts is one more row in here.

The modules in here are found by themselves. Each has a paper or a kind of policies: `POLICIES`, the
rows, and `GROUP`, which they belong to (empty: to none); a row of further groups names them. One of
the modules of a group says its `TITLE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from simalloc.errors import PolicyError
from simalloc.policy.description import Policy, read_parameters
from simalloc.policy.families import HeapFamily
from simalloc.policy.modules import modules_in
from simalloc.policy.parts import Value
from simalloc.policy.user import PolicyFromCode, UserPolicy, is_user_policy, policy_of, user_policy

_MODULES: Final = modules_in(__name__, __path__)

CATALOGUE: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        row.name: replace(row, groups=tuple(filter(None, (module.GROUP, *row.groups))))
        for module in _MODULES
        for row in module.POLICIES
    }
)

HEAP_POLICIES: Final[Mapping[str, Policy]] = MappingProxyType(
    {
        name: row
        for name, row in CATALOGUE.items()
        if isinstance(row.description, HeapFamily) and row.description.in_all
    }
)
"""Those that keep a heap, and no device's memory; `all` stands for them."""

_HOMES: Final = {row.name: module.__name__ for module in _MODULES for row in module.POLICIES}

DEFAULT: Final = (
    "first-fit-ao",
    "best-fit-ao",
    "next-fit-ao",
    "first-fit-lifo",
    "binary-buddy",
    "simple-seg-2n",
    "dlmalloc-2.8.6",
    "tlsf",
    "ptmalloc",
    "jemalloc",
    "tcmalloc",
    "mimalloc",
)
"""What one would teach or install: what commands take when no policy is named."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        group: tuple(row.name for row in CATALOGUE.values() if group in row.groups)
        for group in sorted({group for row in CATALOGUE.values() for group in row.groups})
    }
    | {"default": tuple(name for name in DEFAULT if name in CATALOGUE)}
)
"""The names of the policies in each group."""

GROUP_TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {module.GROUP: module.TITLE for module in _MODULES if hasattr(module, "TITLE")}
    | {"default": "what one would teach or install"}
)
"""What the groups are."""


AnyPolicy = Policy | UserPolicy | type[UserPolicy] | str
"""A policy, text that names one, or the Python code of one's own."""


def find_policy(text: AnyPolicy, **parameters: Value) -> Policy:
    """Return the policy that text such as `first-fit-ao` or `first-fit-ao:growth=64K` names.

    `mine.py:WorstFit` is a class in a file, which is executed; a policy of one's own may also be
    given itself, as its class or an object of it. `parameters` change further ones:
    `find_policy("first-fit-ao", growth="64K")`. Raises `PolicyError` if there is no such policy or
    parameter.
    """
    if isinstance(text, Policy):
        return text.with_parameters(**parameters) if parameters else text
    if not isinstance(text, str):
        return policy_of(text, **parameters)
    if is_user_policy(text):
        return user_policy(text, parameters)
    name, _, tail = text.strip().partition(":")
    if name.startswith("@"):
        raise PolicyError(f"{name} is a group, but one policy is required")
    if name not in CATALOGUE:
        raise PolicyError(f"unknown policy {name!r}; {_hint(name)}")
    given = read_parameters(text, tail)
    return CATALOGUE[name].with_parameters(**{**given, **parameters})


_ALSO_CALLED: Final = {"glibc": ["ptmalloc"], "malloc": ["ptmalloc"], "python": ["pymalloc"]}


def _hint(name: str) -> str:
    """Say what somebody may have meant who gave a name that no policy has."""
    if name.endswith(".py"):
        return f"a class in a file is given as {name}:CLASS"
    near = _ALSO_CALLED.get(name) or get_close_matches(name.lower(), CATALOGUE, n=3, cutoff=0.55)
    return f"did you mean {' or '.join(near)}?" if near else "`simalloc policies` lists them"


def modules_of(policy: Policy) -> tuple[str, ...]:
    """Return the modules that say what a policy is: of its family, and of its row if it has one."""
    families = [kind.__module__ for kind in type(policy.description).__mro__]
    home = _HOMES.get(policy.name)
    return (*families, *([home] if home else []))


def spell(policy: Policy) -> str:
    """Return the text from which `find_policy()` makes this policy again, if the name is known."""
    return policy.spelled(CATALOGUE.get(policy.name))


def spell_exactly(policy: Policy) -> str:
    """Return the text that names this policy and no other, also after its code has changed."""
    return policy.exact if isinstance(policy, PolicyFromCode) else spell(policy)
