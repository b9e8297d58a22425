"""All tables of the experiment, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from experiments.coverage import coverage_table
from experiments.detlefs.agreement import agreement_table
from experiments.detlefs.behaviour import buffers_table, comparison
from experiments.detlefs.bracket import bracket_table
from experiments.detlefs.choices import buffers_choice_table, roots_table
from experiments.detlefs.heaps import table_9, table_10
from experiments.detlefs.measuring import Results
from experiments.detlefs.units import units_table
from experiments.detlefs.work import ranks_table, work_table
from experiments.output import Exhibit

_COVERAGE: Final = Path(__file__).with_name("coverage.csv")


def exhibits(results: Results) -> dict[str, Exhibit]:
    """Return every table by the stem of its file name, in the order of presentation."""
    return {
        "table-2": Exhibit.compared(comparison(results.described)),
        "stdio-buffers": Exhibit.plain(buffers_table(results.described)),
        "units": Exhibit.plain(units_table()),
        "table-9": Exhibit.compared(table_9(results)),
        "table-10": Exhibit.compared(table_10(results)),
        "bracket": Exhibit.plain(bracket_table(results)),
        "buffers-choice": Exhibit.plain(buffers_choice_table(results.choices, results.buffered)),
        "roots": Exhibit.plain(roots_table(results.choices, results.buffered)),
        "agreement": Exhibit.plain(agreement_table(results)),
        "work": Exhibit.plain(work_table(results)),
        "ranks": Exhibit.plain(ranks_table(results)),
        "coverage": Exhibit.plain(coverage_table(_COVERAGE)),
    }
