"""Tables of the catalogue of policies, and of all facts about one policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from simalloc.policy import GROUP_TITLES, HeapFamily, Policy, parameters_of, spell, spell_value
from simalloc.policy.parts import Value
from simalloc.report.table import Table

_NOTES = (
    "Parameters can be changed by name, as in first-fit-ao:growth=64K.",
    "`simalloc policies NAME` describes one policy in full.",
)


def policies_table(policies: Iterable[Policy]) -> Table:
    """Return a table with a row per policy: its names, its source and its interpretation."""
    return Table(
        "Policies",
        ("name", "groups", "family", "parameters", "source", "reading"),
        [
            (
                policy.name,
                ", ".join(policy.groups),
                policy.family,
                _parameters(policy),
                policy.source,
                policy.reading,
            )
            for policy in policies
        ],
        _NOTES[:1],
    )


def group_tables(policies: Sequence[Policy]) -> list[Table]:
    """Return a table for each group, with a line for each policy of the group.

    A policy of two groups is in both tables. A line contains the parameters whose values differ
    from the defaults of the policy's family.
    """
    members: dict[str, list[Policy]] = {}
    for policy in policies:
        for group in policy.groups or ("",):
            members.setdefault(group, []).append(policy)
    *rest, last = [
        Table(
            _title(group),
            ("name", "family", "parameters"),
            [(one.name, one.family, _characteristic(one)) for one in ones],
        )
        for group, ones in members.items()
    ]
    return [*rest, Table(last.title, last.columns, last.rows, _NOTES)]


def policy_tables(policy: Policy) -> list[Table]:
    """Return a table of the facts about a policy, and a table of its parameters."""
    facts = [
        ("groups", ", ".join(f"@{group}" for group in policy.groups)),
        ("family", f"{policy.family}: {_summary(policy)}"),
        ("source", policy.source),
        ("reading", policy.reading),
        ("mechanism=on", _overhead(policy)),
        ("memalign=on", _aligning(policy)),
    ]
    return [
        Table(f"Policy {spell(policy)}", ("", ""), [fact for fact in facts if fact[1]]),
        Table(
            "Parameters",
            ("name", "value", "takes", "meaning"),
            [(one.name, one.value, one.takes, one.meaning) for one in parameters_of(policy)],
        ),
    ]


def _summary(policy: Policy) -> str:
    return (type(policy.description).__doc__ or "").partition("\n")[0]


def _overhead(policy: Policy) -> str:
    """Return the overhead of the mechanism in words, if the mechanism can be turned off."""
    if not isinstance(policy.description, HeapFamily):
        return ""
    overhead = asdict(policy.description.overhead)
    return ", ".join(f"{name} {size}" for name, size in overhead.items()) + " bytes"


def _aligning(policy: Policy) -> str:
    if "alignment" in policy.description.columns:
        return "no effect: the allocator's own rules always serve requested alignments"
    return str(
        policy.description.aligning or "not available: the family cannot serve requested alignments"
    )


def _title(group: str) -> str:
    if not group:
        return "In no group"
    return f"@{group}: {GROUP_TITLES[group]}" if group in GROUP_TITLES else f"@{group}"


def _characteristic(policy: Policy) -> str:
    """Return the parameters that differ from the defaults of the policy's family."""
    known = policy.family_defaults
    return _spelled({name: v for name, v in policy.parameters.items() if known.get(name) != v})


def _parameters(policy: Policy) -> str:
    return _spelled(policy.parameters)


def _spelled(parameters: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={spell_value(value)}" for name, value in parameters.items())
