"""Every policy by its name. A new combination of known parts is one more row in a module here.

The modules of this package are found automatically. Each contains the policies of a paper or of a
kind: the rows `POLICIES`, and their `GROUP` (empty for no group). A row of further groups names
these. One module of each group defines the group's `TITLE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from simalloc.errors import PolicyError
from simalloc.policy.description import Policy, read_parameters, split_at_commas
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
"""Policies of heaps, without device allocators; `all` stands for them."""

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
"""Policies that are taught or installed: the default of commands."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        group: tuple(row.name for row in CATALOGUE.values() if group in row.groups)
        for group in sorted({group for row in CATALOGUE.values() for group in row.groups})
    }
    | {"default": tuple(name for name in DEFAULT if name in CATALOGUE)}
)
"""Names of the policies in each group."""

GROUP_TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {module.GROUP: module.TITLE for module in _MODULES if hasattr(module, "TITLE")}
    | {"default": "policies that are taught or installed"}
)
"""Titles of the groups."""


AnyPolicy = Policy | UserPolicy | type[UserPolicy] | str
"""A policy, a text that names a policy, or a user-defined policy in Python."""


def find_policy(text: AnyPolicy, **parameters: Value) -> Policy:
    """Return the policy that a text such as `first-fit-ao:growth=64K` names.

    Parameters
    ----------
    text : str, Policy, UserPolicy or class
        Name and parameters of a policy of the catalogue; a class in a file, which is executed, as
        `mine.py:WorstFit`; or a policy itself, as an object or as a class derived from
        `UserPolicy`.
    **parameters
        Further parameters by name: `growth="64K"`.

    Returns
    -------
    Policy

    Raises
    ------
    PolicyError
        If the policy or a parameter does not exist, or if a value is out of range.

    Examples
    --------
    >>> simalloc.find_policy("first-fit-ao", growth="64K")

    """
    if isinstance(text, Policy):
        return text.with_parameters(**parameters) if parameters else text
    if _names_several(text):
        raise PolicyError(
            f"one policy is required, but {text} can name several; simulate_all() and "
            "`simalloc run` take several"
        )
    if not isinstance(text, str):
        return policy_of(text, **parameters)
    if is_user_policy(text):
        return user_policy(text, parameters)
    name, _, tail = text.strip().partition(":")
    if name not in CATALOGUE:
        raise PolicyError(f"unknown policy {name!r}; {_hint(name)}")
    given = read_parameters(text, tail)
    return CATALOGUE[name].with_parameters(**{**given, **parameters})


def _names_several(text: object) -> bool:
    """Return whether an argument is a list of policies, or a text that names several policies."""
    if not isinstance(text, str):
        return bool(text) and isinstance(text, (list, tuple, set, dict))
    if is_user_policy(text):
        return False
    name = text.partition(":")[0]
    _, *rest = (part.partition(":")[0] for part in split_at_commas(text))
    is_list = any(each in CATALOGUE for each in rest)
    return is_list or name == "all" or bool(set(",*?[@") & set(name))


_ALSO_CALLED: Final = {"glibc": ["ptmalloc"], "malloc": ["ptmalloc"], "python": ["pymalloc"]}


def _hint(name: str) -> str:
    """Return a hint for an unknown policy name."""
    if name.endswith(".py"):
        return f"a class in a file is given as {name}:CLASS"
    near = _ALSO_CALLED.get(name) or get_close_matches(name.lower(), CATALOGUE, n=3, cutoff=0.55)
    return f"did you mean {' or '.join(near)}?" if near else "`simalloc policies` lists them"


def modules_of(policy: Policy) -> tuple[str, ...]:
    """Return the modules that define a policy: the family's, and the row's if it has a row."""
    families = [kind.__module__ for kind in type(policy.description).__mro__]
    home = _HOMES.get(policy.name)
    return (*families, *([home] if home else []))


def spell(policy: Policy) -> str:
    """Return the text from which `find_policy()` makes this policy again, if its name is known."""
    return policy.spelled(CATALOGUE.get(policy.name))


def spell_exactly(policy: Policy) -> str:
    """Return the text that names only this policy, even after its code has changed."""
    return policy.exact if isinstance(policy, PolicyFromCode) else spell(policy)
