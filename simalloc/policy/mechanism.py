"""Policies alone beside the same with their headers and tables."""

from __future__ import annotations

from collections.abc import Iterable

from simalloc.errors import PolicyError
from simalloc.policy.description import Policy


def with_and_without_mechanism(policies: Iterable[Policy]) -> list[Policy]:
    """Return each policy as it is, followed by the same with mechanism on.

    One that has its mechanism on already, or an overhead set by hand, or none at all as it is
    written in Python, stands alone.
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
