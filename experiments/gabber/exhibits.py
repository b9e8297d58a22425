"""All tables of the experiment, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from experiments.coverage import coverage_table
from experiments.gabber import fit, fragmentation
from experiments.gabber.bounds import bounds_table
from experiments.gabber.choices import TWENTIETH, WHOLE, choices_table
from experiments.gabber.measuring import Results
from experiments.gabber.programs import GENERATED, HUMMINGBIRD
from experiments.gabber.ranks import ranks_table
from experiments.gabber.runs import read_full_fit
from experiments.output import Exhibit

_COVERAGE: Final = Path(__file__).with_name("coverage.csv")


def exhibits(results: Results) -> dict[str, Exhibit]:
    """Return every table by the stem of its file name, in the order of presentation."""
    tenths = {key: results.traces[key] for key in GENERATED}
    shown = {
        "prose-full": Exhibit.plain(read_full_fit("The prose and the figures")),
    }
    for key, trace in tenths.items():
        shown[f"shares-{key}"] = Exhibit.compared(fit.shares(key, trace))
        shown[f"lives-{key}"] = Exhibit.plain(fit.lives_table(key, trace))
    for key, number in fragmentation.NUMBERS.items():
        shown[f"table-{number}"] = Exhibit.compared(fragmentation.comparison(key, results.full))
    plain = {
        "work": fragmentation.work_table(results.full),
        "peaks-full": fragmentation.peaks_table(HUMMINGBIRD, results.full, "in full"),
        "policies": fragmentation.policies_table(results),
        "variants": fragmentation.variants_table(results),
        "bounds": bounds_table(results),
        "ranks": ranks_table(results),
        "choices": choices_table(results.chosen, TWENTIETH),
        "choices-full": choices_table(results.chosen, WHOLE),
        "coverage": coverage_table(_COVERAGE),
    }
    return shown | {name: Exhibit.plain(table) for name, table in plain.items()}
