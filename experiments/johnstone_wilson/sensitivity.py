"""Causes of single figures of tables 3 and 4: realloc, the order of frees, free lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from experiments.johnstone_wilson.alterations import Alteration, NewestFirst, Without
from experiments.johnstone_wilson.fragmentation import NUMBERS, Runs
from experiments.johnstone_wilson.programs import AVAILABLE, heading
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.variants import AS_PRINTED
from simalloc.heap import Realloc
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

LARGE: Final = 1 << 16


@dataclass(frozen=True)
class Change:
    """All sixteen policies on one program, as recorded and with one change.

    `plain` and `changed` are the headings of the columns.
    """

    key: str
    title: str
    program: str
    plain: str
    changed: str
    realloc: Realloc = Realloc.FREE_FIRST
    alteration: Alteration | None = None

    def job(self, policy: str, *, changed: bool) -> Job:
        """Return the simulation of a row, with growth as printed."""
        text = AS_PRINTED.policies[policy]
        if not changed:
            return Job(self.program, text)
        return Job(self.program, text, self.realloc, self.alteration)


CHANGES: Final = (
    Change(
        "espresso-realloc",
        "Espresso: what realloc does first",
        "espresso",
        "frees",
        "allocates",
        realloc=Realloc.MOVE,
    ),
    Change(
        "gcc-order-of-frees",
        "GCC: the order in which the objects of one obstack are freed",
        "gcc",
        "oldest first",
        "newest first",
        alteration=NewestFirst(),
    ),
    Change(
        "gcc-large-objects",
        f"GCC without the objects of more than {LARGE // 1024} KiB",
        "gcc",
        "all",
        "without",
        alteration=Without(LARGE),
    ),
)


@dataclass(frozen=True)
class Choice:
    """One policy on every program, with each value of one parameter.

    `also` maps a value to the text of another parameter that is set with it.
    """

    title: str
    policy: str
    parameter: str
    values: tuple[str, ...]
    also: Mapping[str, str] = field(default_factory=dict, hash=False)

    def text(self, value: str) -> str:
        """Return the policy's text with growth as printed and the parameter set."""
        name, _, rest = AS_PRINTED.policies[self.policy].partition(":")
        others = [one for one in rest.split(",") if one and not one.startswith(self.parameter)]
        more = [self.also[value]] if value in self.also else []
        return f"{name}:{','.join((*others, f'{self.parameter}={value}', *more))}"


CHOICES: Final = (
    Choice(
        "Binary buddy: which free block of a size is taken",
        "binary-buddy",
        "order",
        ("fifo", "lifo", "ao"),
    ),
    Choice(
        "Lea 2.6.1: which requests may use the last remainder",
        "lea-2.6.1",
        "last_remainder",
        ("none", "small", "any"),
    ),
    Choice(
        "Simple segregated storage, sizes 3*2^N: scaled bytes that are cut up when a list is empty",
        "simple-seg-2n-3x2n",
        "growth_3x",
        ("4K", "6K"),
    ),
    Choice(
        "Double buddy: scaled bytes by which the sizes 2^N grow (3*2^N: 1.5 times as many)",
        "double-buddy",
        "growth",
        ("4K", "8K", "16K", "64K"),
        {"8K": "growth_3x=12K", "16K": "growth_3x=24K", "64K": "growth_3x=96K"},
    ),
)

JOBS: Final = (
    *(
        change.job(policy, changed=changed)
        for change in CHANGES
        for policy in AS_PRINTED.policies
        for changed in (False, True)
    ),
    *(
        Job(program, choice.text(value))
        for choice in CHOICES
        for value in choice.values
        for program in AVAILABLE
    ),
)


def change_table(change: Change, runs: Runs) -> Table:
    """Return measures #3 and #4 of every policy: published, as recorded, changed."""
    rows: list[tuple[Value, ...]] = []
    for policy in table(4).rows:
        row: list[Value] = [label(policy)]
        for measure in NUMBERS:
            printed = table(measure).cells[policy][change.program]
            plain, changed = (runs[change.job(policy, changed=c)] for c in (False, True))
            values = (printed.value, percent(plain, measure), percent(changed, measure))
            row += [Rounded(value, printed.decimals) for value in values]
        rows.append(tuple(row))
    columns = [
        f"#{m}\n{what}" for m in NUMBERS for what in ("published", change.plain, change.changed)
    ]
    return Table(f"{change.title}; percent, growth as printed", ("policy", *columns), rows)


def choice_table(choice: Choice, runs: Runs) -> Table:
    """Return measures #3 and #4 on every program: published, then with each value."""
    rows: list[tuple[Value, ...]] = []
    for program in AVAILABLE:
        row: list[Value] = [heading(program).replace("\n", ", ")]
        for measure in NUMBERS:
            printed = table(measure).cells[choice.policy][program]
            values = [percent(runs[Job(program, choice.text(v))], measure) for v in choice.values]
            row += [Rounded(value, printed.decimals) for value in (printed.value, *values)]
        rows.append(tuple(row))
    columns = [f"#{m}\n{what}" for m in NUMBERS for what in ("published", *choice.values)]
    return Table(f"{choice.title}; percent, growth as printed", ("program", *columns), rows)
