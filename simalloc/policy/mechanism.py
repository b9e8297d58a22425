"""Policies paired with the same policies with headers and tables."""

from __future__ import annotations

from collections.abc import Iterable

from simalloc.errors import PolicyError
from simalloc.policy.description import Policy


def with_and_without_mechanism(policies: Iterable[Policy]) -> list[Policy]:
    """Return each policy, followed by the same policy with mechanism on.

    A policy is not paired if its mechanism is already on, if its overhead is set by hand, or if it
    is written in Python and has no mechanism.
    """
    found: list[Policy] = []
    for policy in policies:
        found.append(policy)
        if not policy.description.mechanism:
            try:
                found.append(policy.with_parameters(mechanism=True))
            except PolicyError:
                continue
    return found
