"""Choice of several policies by names, groups, patterns and grids of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any, Final

from simalloc.errors import PlanError, PolicyError
from simalloc.plural import kind_of
from simalloc.policy.catalogue import CATALOGUE, GROUPS, HEAP_POLICIES, find_policy, spell_exactly
from simalloc.policy.description import Policy, split_at_commas
from simalloc.policy.user import UserPolicy, is_user_policy, user_policy

ALL: Final = "all"
"""Word for every policy of the catalogue that keeps a heap."""

_ALSO_CALLED: Final = {"bohra-gabber": "gabber"}
"""Alternative names of groups."""

Grid = dict[str, "int | str | Sequence[int | str]"]
"""Parameters by name, each with one value or with several values to try."""


def listed(value: Any) -> list[Any]:
    """Return one value, which may be text, or several values as a list."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def expand_policies(policies: object, folder: Path | None = None) -> tuple[Policy, ...]:
    """Return the policies that names, patterns and grids of parameters denote.

    `policies` is one or several of: a `Policy`, a policy in Python, or a text. A text is a list
    such as `first-fit-ao,jemalloc`, a group such as `@johnstone-wilson`, a pattern such as
    `first-fit-*`, or `all`. `policies` can also map names, groups and patterns to grids, for the
    policy with every combination of the values. Files of policies are searched from `folder`.
    Raises `PlanError` with the wrong key.
    """
    pairs: list[tuple[Any, Any]] = (
        [*policies.items()]
        if isinstance(policies, dict)
        else [
            (one, {})
            for item in listed(policies)
            for one in (split_names(item) if isinstance(item, str) else [item])
        ]
    )
    found: list[Policy] = []
    for name, grid in pairs:
        _check_grid(name, grid)
        for policy in _named(name, folder):
            found += _with_grid(policy, grid, ("policies", str(name)))
    if not found:
        raise PlanError("no policies are given; give at least one", key=("policies",))
    return tuple(_unique(found))


def split_names(text: str) -> list[str]:
    """Split a list such as `ptmalloc:arena_max=2,top_pad=0,jemalloc` into its policies.

    A comma is followed by another policy, or by another parameter of the same policy.
    """
    names: list[str] = []
    for part in split_at_commas(text):
        if names and "=" in part and not is_policy_name(part):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def is_policy_name(text: str) -> bool:
    """Return whether a text denotes a policy: by a name, group, pattern, `all` or class."""
    return is_user_policy(text) or bool(_matching(text.partition(":")[0]))


def _matching(name: str) -> list[str]:
    """Return the names of the catalogue that a name, a group, a pattern or `all` denotes."""
    if name.startswith("@"):
        return list(GROUPS.get(_ALSO_CALLED.get(name[1:], name[1:]), ()))
    if name == ALL:
        return list(HEAP_POLICIES)
    return [known for known in CATALOGUE if fnmatchcase(known, name)]


def _named(item: object, folder: Path | None) -> list[Policy]:
    """Return the policies that one item denotes."""
    if isinstance(item, UserPolicy) or (isinstance(item, type) and issubclass(item, UserPolicy)):
        return [find_policy(item)]
    if isinstance(item, Policy):
        _check_name(item)
        return [item]
    if not isinstance(item, str):
        remedy = "; use its attribute `policy`" if hasattr(item, "policy") else ""
        reason = f"{kind_of(item)} is not a policy or the name of one{remedy}"
        raise PlanError(reason, key=("policies",), value=item)
    key = ("policies", item)
    if is_user_policy(item):
        return [_checked(item, key, folder)]
    name, colon, parameters = item.partition(":")
    if name != ALL and not set("*?[@") & set(name):
        return [_checked(item, key)]
    names = _matching(name)
    if not names and name.startswith("@"):
        known = ", ".join(f"@{group}" for group in GROUPS)
        raise PlanError(f"unknown group {name}; choose one of {known}", key=key)
    if not names:
        raise PlanError(f"no policy matches {name!r}; `simalloc policies` lists them", key=key)
    return [_checked(f"{known}{colon}{parameters}", key) for known in names]


def _check_name(policy: Policy) -> None:
    """Raise `PlanError` if the catalogue uses the policy's name for another family."""
    row = CATALOGUE.get(policy.name, policy)
    if type(row.description) is not type(policy.description):
        reason = (
            f"{policy.name} is the name of another policy in the catalogue; choose another "
            "name for this policy"
        )
        raise PlanError(reason, key=("policies",))


def _checked(text: str, key: tuple[str, ...], folder: Path | None = None) -> Policy:
    try:
        return user_policy(text, folder=folder) if is_user_policy(text) else find_policy(text)
    except PolicyError as error:
        raise PlanError(str(error), key=key, value=text) from None


def _check_grid(policy: object, grid: object) -> None:
    if not isinstance(grid, dict):
        raise PlanError(f"{policy} is not a table of parameters", key=("policies", str(policy)))
    for name, values in grid.items():
        key = ("policies", str(policy), name)
        if isinstance(values, dict):
            hint = 'a name with a dot is quoted, as in [policies."lea-2.6.1"]'
            raise PlanError(f"{policy}.{name} is a table; {hint}", key=key)
        if not listed(values):
            raise PlanError(f"{name} has no values", key=key)
        for value in listed(values):
            if type(value) not in (int, str):
                reason = f"{name} is {value!r}; use a whole number or a text"
                raise PlanError(reason, key=key, value=value)


def _with_grid(policy: Policy, grid: Mapping[str, Any], key: tuple[str, ...]) -> list[Policy]:
    """Return the policy with every combination of the grid's values."""
    found = []
    for values in product(*(listed(values) for values in grid.values())):
        parameters = dict(zip(grid, values, strict=True))
        try:
            found.append(policy.with_parameters(**parameters))
        except PolicyError as error:
            raise _blame(policy, parameters, key) or PlanError(str(error), key=key) from None
    return found


def _blame(policy: Policy, parameters: Mapping[str, Any], key: tuple[str, ...]) -> PlanError | None:
    """Return the error of the parameter that is invalid by itself, or None."""
    for name, value in parameters.items():
        try:
            policy.with_parameters(**{name: value})
        except PolicyError as error:
            return PlanError(str(error), key=(*key, name), value=value)
    return None


def _unique(policies: list[Policy]) -> Iterable[Policy]:
    return {spell_exactly(policy): policy for policy in policies}.values()
