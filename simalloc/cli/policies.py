"""`simalloc policies`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from simalloc.cli import completing
from simalloc.cli.messages import echo
from simalloc.cli.options import format_option
from simalloc.policy import CATALOGUE, GROUPS, Policy, expand_policies, rules_of, spell
from simalloc.report import Format, write_table
from simalloc.report.policies import group_tables, policies_table, policy_tables
from simalloc.report.prose import write_prose


@click.command(
    "policies",
    epilog="\b\nExamples:\n"
    "  simalloc policies @johnstone-wilson\n"
    "  simalloc policies best-fit-lifo\n"
    "  simalloc policies --format markdown",
)
@click.argument("names", nargs=-1, metavar="[NAME|@GROUP]...", shell_complete=completing.policies)
@format_option
def command(names: Sequence[str], table_format: Format) -> None:
    """List the catalogue of policies, or describe one.

    Without a name, one line is printed for each policy. With a name, the description of that policy
    is printed: its family, its source, the decisions where the source is silent, its parameters,
    its rules and an example. JSON and CSV contain one row for each policy.
    """
    policies = expand_policies(names) if names else tuple(CATALOGUE.values())
    if table_format in {"json", "csv"}:
        write_table(policies_table(policies), table_format, sys.stdout)
    elif len(policies) == len(names) and not any(name.startswith("@") for name in names):
        for policy in policies:
            _write_policy(policy, table_format)
    else:
        for table in group_tables(policies):
            write_table(table, table_format, sys.stdout)


def _write_policy(policy: Policy, table_format: Format) -> None:
    """Write the description of a policy."""
    for table in policy_tables(policy):
        write_table(table, table_format, sys.stdout)
    others = [name for name in GROUPS["johnstone-wilson"] if name != policy.name]
    rules = rules_of(policy)
    if table_format == "table":
        write_prose(rules, sys.stdout)
    else:
        echo(f"\n{rules}")
    echo("docs/policies.md describes the rules common to all policies.")
    echo(f"\nExample:\n  simalloc run espresso -p {spell(policy)} {others[0]}")
