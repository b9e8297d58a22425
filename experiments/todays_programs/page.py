"""The explanatory page. Its text is in `page.md`, its figures come from the run.

A test (tests/papers/test_todays_programs.py) checks that docs shows the same figures. If they
change, read the text again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from experiments.growth.findings import Findings
from experiments.growth.measuring import FINE
from experiments.johnstone_wilson.growth_unit import DESCRIBED, SCALE
from experiments.output import fill_page
from experiments.todays_programs import facts
from experiments.todays_programs.cases import AS_IT_IS, CASES, IN_PLACE, PAIR, Case, Change
from experiments.todays_programs.measuring import Results
from experiments.todays_programs.programs import PROGRAMS
from simalloc.report import Table
from simalloc.trace import Op

PAGE: Final = "todays-programs.md"
BEST: Final = PAIR[0]
REDIS: Final = next(case for case in CASES if case.program == "redis")
_WORDS: Final = Path(__file__).with_name("page.md")


def _pieces(results: Results, case: Case, policy: str, change: Change) -> facts.Pieces:
    """Return the free blocks at the peak of a case's heap."""
    run = results.runs[change.job(case.program, policy)]
    return facts.pieces(results.traces[case.program], run, case.hole)


def page(results: Results, tables: Mapping[str, Table]) -> str:
    """Return the page as Markdown."""
    at_peak = {
        case.program: {policy: _pieces(results, case, policy, AS_IT_IS) for policy in PAIR}
        for case in CASES
    }
    cc1 = {policy: facts.huge_requests(results.traces["cc1"], policy) for policy in PAIR}
    f2c = results.traces["f2c"]
    found = Findings.kept()
    by_unit = {
        program: [found.outcome(program, BEST, unit).waste for unit in FINE]
        for program in ("perl5", "ginsh")
    }
    known: dict[str, Any] = {
        "programs": len(PROGRAMS),
        "scale": SCALE,
        "described": DESCRIBED,
        "described_kib": DESCRIBED * SCALE // 1024,
        "five": facts.near_zero(results, 5),
        "waste": {
            policy: {program: results.waste(program, policy) for program in PROGRAMS}
            for policy in PAIR
        },
        "by_a_byte": {program: waste[0] for program, waste in by_unit.items()},
        "first_width": max(found.spread(program, PAIR[1]).width for program in PROGRAMS),
        "any_unit": {program: max(waste) for program, waste in by_unit.items()},
        "perl": facts.growing_block(results.traces["perl5"]),
        "perl_holes": ", ".join(f"{hole:,.0f}" for hole in at_peak["perl5"][BEST].largest),
        "at_peak": at_peak,
        "redis_in_place": {policy: _pieces(results, REDIS, policy, IN_PLACE) for policy in PAIR},
        "ginsh": facts.large_requests(results.traces["ginsh"]),
        "cc1": cc1,
        "cc1_apart": cc1["best-fit-ao"].events[-1] - cc1["best-fit-ao"].events[0],
        "cc1_sizes": " and ".join(f"{size:,}" for size in cc1["best-fit-ao"].sizes),
        "f2c_request": float(np.median(f2c.size[f2c.op != Op.FREE])),
        "f2c_double": results.waste("f2c", "double-buddy"),
    }
    return fill_page(_WORDS, known, tables)
