"""The tables and the page of generated workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from experiments.output import fill_page
from experiments.synthetic.measuring import LAWS, MAX_OBJECTS, POLICIES, Measured
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

PAGE: Final = "workloads.md"
_WORDS: Final = Path(__file__).with_name("page.md")


def tables(measured: Measured) -> dict[str, Table]:
    """Return the table of programs."""
    rows: list[list[Value]] = [
        [
            name,
            Rounded(100 * one.median, 1),
            *(Rounded(100 * one.median * one.ratio(law), 1) for law in LAWS),
            *(Rounded(one.agreement(law), 2) for law in LAWS),
        ]
        for name, one in measured.items()
    ]
    columns = (
        "program",
        "program %",
        *(f"{law} %" for law in LAWS),
        *(f"tau, {law}" for law in LAWS),
    )
    title = "Median fragmentation #4 of 16 policies, and rank correlation of the policies"
    return {"programs": Table(title, columns, rows)}


def page(measured: Measured, shown: dict[str, Table]) -> str:
    """Return the page as Markdown."""
    facts = {
        "programs": len(measured),
        "policies": len(POLICIES),
        "objects": f"{MAX_OBJECTS:,}",
        **{
            f"{key}_{text}": value
            for law, text in LAWS.items()
            for key, value in _spread(measured, law).items()
        },
    }
    return fill_page(_WORDS, facts, shown)


def _spread(measured: Measured, law: str) -> dict[str, str]:
    """Return median, quartiles and range of the ratios and of tau, in the page's format."""
    ratios = np.array([one.ratio(law) for one in measured.values()])
    taus = np.array([one.agreement(law) for one in measured.values()])
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    return {
        "median": f"{middle:.1f}",
        "quartiles": f"{low:.1f} to {high:.1f}",
        "range": f"{ratios.min():.1f} to {ratios.max():,.0f}",
        "tau": f"{np.median(taus):.2f}",
        "taus": f"{taus.min():.2f} to {taus.max():.2f}",
    }
