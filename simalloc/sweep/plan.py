"""Plan of a sweep: its traces, policies and options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from simalloc.errors import PlanError, SimallocError
from simalloc.heap import Realloc
from simalloc.heap.quantity import Quantity, measuring, quantity
from simalloc.heap.run_options import RunOptions, check_scale
from simalloc.policy import Policy
from simalloc.policy.choice import listed
from simalloc.sweep.task import Task

if TYPE_CHECKING:
    from simalloc.sweep.source import Source


@dataclass(frozen=True)
class Plan:
    """Every trace under every policy, at every scale, with every realloc rule."""

    sources: tuple[Source, ...]
    policies: tuple[Policy, ...]
    scales: tuple[int | None, ...] = (None,)
    """Scales; None is the default of each policy."""
    reallocs: tuple[Realloc | None, ...] = (None,)
    """Realloc rules; None is the default of each policy."""
    timelines: bool = False
    of: tuple[Quantity, ...] = ("mapped",)
    """Quantities to measure. Mapped bytes are always measured."""

    def tasks(self) -> list[Task]:
        """Return the runs. Each run occurs once, even if the plan names it in several ways."""
        asked = measuring(RunOptions(), self.of)
        tasks = (
            Task(
                source,
                policy,
                replace(asked, scale=scale, realloc=realloc).resolved(policy),
                self.timelines,
            )
            for source, policy, scale, realloc in product(
                self.sources, self.policies, self.scales, self.reallocs
            )
        )
        return list({task.key: task for task in tasks}.values())


def check_scales(scales: object) -> tuple[int | None, ...]:
    """Return the scales of a plan. Raises `PlanError` for an invalid scale."""
    if scales is None:
        return (None,)
    values = listed(scales)
    for value in values:
        if type(value) is not int:
            reason = f"scale is {value!r}; use a whole number"
            raise PlanError(reason, key=("scales",), value=value)
        try:
            check_scale(value)
        except SimallocError as error:
            raise PlanError(str(error), key=("scales",), value=value) from None
    if not values:
        raise PlanError("the plan has no scales", key=("scales",))
    return tuple(values)


def check_reallocs(reallocs: object) -> tuple[Realloc | None, ...]:
    """Return the realloc rules of a plan. Raises `PlanError` for an unknown rule."""
    if reallocs is None:
        return (None,)
    values = listed(reallocs)
    known = [rule.value for rule in Realloc]
    for value in values:
        if not isinstance(value, Realloc) and value not in known:
            reason = f"unknown realloc rule {value!r}; choose one of {', '.join(known)}"
            raise PlanError(reason, key=("reallocs",), value=value)
    if not values:
        raise PlanError("the plan has no realloc rules", key=("reallocs",))
    return tuple(Realloc(value) for value in values)


def check_quantities(of: object) -> tuple[Quantity, ...]:
    """Return the quantities of a plan. Raises `PlanError` for an unknown quantity."""
    words = listed("mapped" if of is None else of)
    for word in words:
        try:
            quantity(word)
        except SimallocError as error:
            raise PlanError(str(error), key=("of",), value=word) from None
    if not words:
        raise PlanError("the plan has no quantities", key=("of",))
    return tuple(quantity(word) for word in words)
