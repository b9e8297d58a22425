"""The catalogue of policies as a table."""

from __future__ import annotations

from simalloc.policy import CATALOGUE, Policy, spell_value
from simalloc.report.table import Table


def policies_table() -> Table:
    """Return a row a policy: name, family, parameters as `policy()` reads them, source, reading."""
    return Table(
        "Policies",
        ("name", "family", "parameters", "source", "reading"),
        [
            (policy.name, policy.family, _parameters(policy), policy.source, policy.reading)
            for policy in CATALOGUE.values()
        ],
        ("Parameters can be changed by name, as in first-fit-ao:growth=64K.",),
    )


def _parameters(policy: Policy) -> str:
    return ", ".join(f"{name}={spell_value(value)}" for name, value in policy.parameters.items())
