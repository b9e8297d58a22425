"""Shell completion of an unfinished word: names of traces and policies, and files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import click
from click.shell_completion import CompletionItem, FishComplete, add_completion_class


class _WholeNames(FishComplete):
    """Completion in fish that keeps the commas of a list of policies.

    A line of completion output is `TYPE,NAME`. Click's script for fish splits it at every comma and
    drops all but the first part of the name and of its description.
    """

    source_template: ClassVar[str] = FishComplete.source_template.replace(
        "string split", "string split --max 1"
    )


add_completion_class(_WholeNames, "fish")


def traces(
    context: click.Context, parameter: click.Parameter, unfinished: str
) -> list[CompletionItem]:
    """Return the catalogued traces and files, and after -p also policies.

    The option -p accepts several words.
    """
    from simalloc.trace.catalogue import catalogue  # noqa: PLC0415 - only for completion

    further = policies(context, parameter, unfinished) if context.params.get("policies") else []
    named = ((name, entry.program) for name, entry in catalogue().items())
    return [CompletionItem(unfinished, type="file"), *_beginning(unfinished, named), *further]


def policies(
    _context: click.Context, _parameter: click.Parameter, unfinished: str
) -> list[CompletionItem]:
    """Return the policies and groups, also for the last name of a list with commas."""
    from simalloc.policy import CATALOGUE, GROUPS  # noqa: PLC0415 - only for completion

    before, comma, last = unfinished.rpartition(",")
    groups = ((f"@{group}", f"{len(rows)} policies") for group, rows in GROUPS.items())
    rows = ((name, policy.source) for name, policy in CATALOGUE.items())
    offered = [("all", "every policy that can take the trace"), *groups, *rows]
    return [
        CompletionItem(before + comma + item.value, help=item.help)
        for item in _beginning(last, offered)
    ]


def _beginning(unfinished: str, offered: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    return [
        CompletionItem(name, help=" ".join(meaning.split()))
        for name, meaning in offered
        if name.startswith(unfinished)
    ]
