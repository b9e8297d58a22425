"""A plan: which traces are to be replayed under which policies, and how."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from simalloc.errors import PlanError, PolicyError, SimallocError
from simalloc.heap import Realloc
from simalloc.heap.setting import check_scale
from simalloc.policy import (
    CATALOGUE,
    OwnPolicy,
    Policy,
    PythonPolicy,
    is_own,
    own_policy,
    spell_exactly,
)
from simalloc.policy import policy as find_policy
from simalloc.sweep.task import Task
from simalloc.sweep.values import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from simalloc.sweep.source import Source

ALL: Final = "all"
"""The word for every policy of the catalogue."""

Grid = dict[str, "int | str | Sequence[int | str]"]
"""Parameters by name, each with a value or with several to be tried."""


@dataclass(frozen=True)
class Plan:
    """Every trace under every policy, at every scale, with every rule for realloc."""

    sources: tuple[Source, ...]
    policies: tuple[Policy, ...]
    scales: tuple[int, ...] = (16,)
    reallocs: tuple[Realloc, ...] = (Realloc.FREE_FIRST,)
    timelines: bool = False

    def tasks(self) -> list[Task]:
        """Return the runs, each once, even if the plan names it in several ways."""
        tasks = (
            Task(source, policy, scale, realloc, self.timelines)
            for source, policy, scale, realloc in product(
                self.sources, self.policies, self.scales, self.reallocs
            )
        )
        return list({task.key: task for task in tasks}.values())


def expand_policies(policies: object, folder: Path | None = None) -> tuple[Policy, ...]:
    """Return the policies that names, patterns and grids of parameters stand for.

    They are given as one or several of `Policy`, policies of one's own, and names, which may be
    patterns such as `first-fit-*`, or `all`; or as a mapping from names to grids, for the policy
    with every combination of the values. Files of policies are looked for from `folder`. Raises
    `PlanError` with the wrong key.
    """
    if not isinstance(policies, dict):
        policies = {item: {} for item in listed(policies)}
    found: list[Policy] = []
    for name, grid in policies.items():
        _check_grid(name, grid)
        for policy in _named(name, folder):
            found += _with_grid(policy, grid, ("policies", str(name)))
    if not found:
        raise PlanError("there are no policies", key=("policies",))
    return tuple(_unique(found))


def check_scales(scales: object) -> tuple[int, ...]:
    """Return the scales of a plan; raises `PlanError` for one that cannot be."""
    values = listed(scales)
    for value in values:
        if type(value) is not int:
            reason = f"scale is {value!r}; it takes a whole number"
            raise PlanError(reason, key=("scales",), value=value)
        try:
            check_scale(value)
        except SimallocError as error:
            raise PlanError(str(error), key=("scales",), value=value) from None
    if not values:
        raise PlanError("there are no scales", key=("scales",))
    return tuple(values)


def check_reallocs(reallocs: object) -> tuple[Realloc, ...]:
    """Return the realloc rules of a plan; raises `PlanError` for one that does not exist."""
    values = listed(reallocs)
    known = [rule.value for rule in Realloc]
    for value in values:
        if not isinstance(value, Realloc) and value not in known:
            reason = f"there is no realloc rule {value!r}; there are {', '.join(known)}"
            raise PlanError(reason, key=("reallocs",), value=value)
    if not values:
        raise PlanError("there are no realloc rules", key=("reallocs",))
    return tuple(Realloc(value) for value in values)


def _named(text: object, folder: Path | None) -> list[Policy]:
    if isinstance(text, PythonPolicy) or (
        isinstance(text, type) and issubclass(text, PythonPolicy)
    ):
        return [find_policy(text)]
    if isinstance(text, OwnPolicy):
        return [text]
    if isinstance(text, Policy):
        if type(_checked(text.name, ("policies",)).description) is not type(text.description):
            reason = f"{text.name} is another policy in the catalogue, whose names results go by"
            raise PlanError(reason, key=("policies",))
        return [text]
    if not isinstance(text, str):
        raise PlanError(f"{text!r} is not the name of a policy", key=("policies",), value=text)
    key = ("policies", text)
    if is_own(text):
        return [_checked(text, key, folder)]
    name, colon, parameters = text.partition(":")
    pattern = "*" if name == ALL else name
    if not set("*?[") & set(pattern):
        return [_checked(text, key)]
    names = [known for known in CATALOGUE if fnmatchcase(known, pattern)]
    if not names:
        raise PlanError(f"no policy matches {name!r}", key=key)
    return [_checked(f"{known}{colon}{parameters}", key) for known in names]


def _checked(text: str, key: tuple[str, ...], folder: Path | None = None) -> Policy:
    try:
        return own_policy(text, folder=folder) if is_own(text) else find_policy(text)
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
                reason = f"{name} is {value!r}; it takes a number or a text"
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
    """Return the complaint about the parameter that is wrong by itself, if there is one."""
    for name, value in parameters.items():
        try:
            policy.with_parameters(**{name: value})
        except PolicyError as error:
            return PlanError(str(error), key=(*key, name), value=value)
    return None


def _unique(policies: list[Policy]) -> Iterable[Policy]:
    return {spell_exactly(policy): policy for policy in policies}.values()
