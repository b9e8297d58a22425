"""All tables and figures of the experiment, by name, made from the measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from experiments.coverage import coverage_table
from experiments.johnstone_wilson import (
    evidence,
    figure,
    findings,
    fragmentation,
    growth_steps,
    pinned,
    rank_order,
    sections,
    sensitivity,
    statistics,
)
from experiments.johnstone_wilson.comparison import SUMMARIES
from experiments.johnstone_wilson.measuring import Results
from experiments.johnstone_wilson.programs import GENUINE
from experiments.johnstone_wilson.variants import VARIANTS
from experiments.output import Exhibit

_COVERAGE: Final = Path(__file__).with_name("coverage.csv")


def exhibits(results: Results) -> dict[str, Exhibit]:
    """Return every table by the stem of its file name, in the order of presentation."""
    runs, described = results.runs, results.described
    shown = {
        f"table-{one.published.number}": Exhibit.compared(one)
        for one in statistics.comparisons(described)
    }
    plain = {
        "consistency": evidence.consistency_table(),
        "growth-unit": evidence.grids_table(),
        "growth-unit-truths": evidence.truths_table(),
        "growth-unit-other-rows": evidence.rows_table(),
        "peak-live-bytes": evidence.live_table(described),
        "figure-1": figure.measures_table(runs[figure.JOB]),
        **{change.key: sensitivity.change_table(change, runs) for change in sensitivity.CHANGES},
        **{choice.policy: sensitivity.choice_table(choice, runs) for choice in sensitivity.CHOICES},
        "agreement": pinned.agreement_table(runs),
        **{f"pinned-{name}": pinned.program_table(name, runs) for name in GENUINE},
        "sections": sections.sections_table(described),
        "coverage": coverage_table(_COVERAGE),
        "ghostscript-excess": findings.excess_table(results),
        "rank-order-all": rank_order.all_rows_table(runs),
        "rank-order": rank_order.orders_table(runs),
        "growth-steps": growth_steps.steps_table(runs),
        "closeness": findings.closeness_table(runs),
        "growth-fit": fragmentation.growth_fit(runs),
        **{
            f"{summary}s-{number}": fragmentation.summaries(number, summary, runs)
            for number in fragmentation.NUMBERS
            for summary in SUMMARIES
        },
    }
    shown |= {name: Exhibit.plain(table) for name, table in plain.items()}
    for variant in reversed(VARIANTS):
        for number in fragmentation.NUMBERS:
            one = fragmentation.comparison(number, variant, runs)
            shown[f"table-{number}-{variant.key}"] = Exhibit.compared(one)
    return shown
