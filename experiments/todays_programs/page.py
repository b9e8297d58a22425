"""The page of plain words. The words are in `page.md`, the figures in them come from the run.

What the words claim is asserted in tests/papers/test_todays_programs.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from experiments.johnstone_wilson.growth_unit import DESCRIBED, SCALE
from experiments.johnstone_wilson.replays import percent
from experiments.output import markdown, wrapped
from experiments.todays_programs import facts
from experiments.todays_programs.cases import CASES, PAIR
from experiments.todays_programs.programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.todays_programs.measuring import Results
    from simalloc.report import Table

PAGE: Final = "todays-programs.md"
_WORDS: Final = Path(__file__).with_name("page.md")


def _one_line(table: Table) -> Table:
    """Return the table with headings of one line."""
    return replace(table, columns=[column.replace("\n", " ") for column in table.columns])


def page(results: Results, tables: Mapping[str, Table]) -> str:
    """Return the page as Markdown."""
    perl = facts.growing_block(results.traces["perl5"])
    cc1 = {policy: facts.huge_requests(results.traces["cc1"], policy) for policy in PAIR}
    known: dict[str, Any] = {
        "programs": len(PROGRAMS),
        "scale": SCALE,
        "described": DESCRIBED,
        "described_kib": DESCRIBED * SCALE // 1024,
        "one": facts.near_zero(results, 1),
        "five": facts.near_zero(results, 5),
        "waste": {
            policy: {program: results.waste(program, policy) for program in PROGRAMS}
            for policy in PAIR
        },
        "changed": {
            case.program: {
                policy: [
                    percent(results.runs[change.job(case.program, policy)], 4)
                    for change in case.changes
                ]
                for policy in PAIR
            }
            for case in CASES
        },
        "perl": perl,
        "perl_holes": ", ".join(f"{hole:,}" for hole in perl.holes),
        "ginsh": facts.large_requests(results.traces["ginsh"]),
        "cc1": cc1,
        "cc1_apart": cc1["best-fit-ao"].events[-1] - cc1["best-fit-ao"].events[0],
        "cc1_sizes": " and ".join(f"{size:,}" for size in cc1["best-fit-ao"].sizes),
        "tables": {name: markdown(_one_line(table)) for name, table in tables.items()},
    }
    text = _WORDS.read_text(encoding="utf-8").format_map(known)
    return "\n\n".join(map(wrapped, text.split("\n\n")))
