"""The page for docs: its words are in `page.md`, the figures in them come from the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from experiments.output import Exhibit, fill_page
from experiments.ptmalloc.measuring import version
from experiments.threads.measuring import CORES
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.threads.measuring import Compared
    from simalloc.report.table import Value

PAGE: Final = "threads.md"

_WORDS: Final = Path(__file__).with_name("page.md")


def table(compared: Sequence[Compared]) -> Table:
    """Return what is resident at the peak and at the end, in glibc and in its model."""
    rows: list[Sequence[Value]] = [
        (
            one.program,
            one.threads,
            one.settings,
            one.live,
            int(one.real.peak_bytes),
            int(one.model.peak_bytes),
            Rounded(100 * (one.model.peak_bytes / one.real.peak_bytes - 1), 2, signed=True),
            int(one.real.final_bytes),
            int(one.model.final_bytes),
        )
        for one in compared
    ]
    columns = (
        "trace", "threads", "settings", "peak live", "glibc, peak", "model, peak", "difference %",
        "glibc, end", "model, end",
    )  # fmt: skip
    return Table("Resident bytes", columns, rows)


def page(compared: Sequence[Compared], shown: Table) -> str:
    """Return the page as Markdown."""
    default = [one for one in compared if one.settings == "default"]
    single = {one.program: one for one in compared if one.settings == "arena_max=1"}
    most = max(default, key=lambda one: one.real.peak_bytes / single[one.program].real.peak_bytes)
    mapped = sum(one.real_mapped.peak_bytes == one.model_mapped.peak_bytes for one in compared)
    worst = max(compared, key=lambda one: abs(one.model.peak_bytes / one.real.peak_bytes - 1))
    facts = {
        "here": ".".join(map(str, version())),
        "cores": CORES,
        "rows": len(compared),
        "mapped": mapped,
        "most": most.program,
        "most_default": f"{most.real.peak_bytes / 1e6:.2f}",
        "most_single": f"{single[most.program].real.peak_bytes / 1e6:.2f}",
        "most_live": f"{most.live / 1e6:.2f}",
        "worst": worst.program,
        "worst_setting": worst.settings,
        "worst_percent": f"{100 * abs(worst.model.peak_bytes / worst.real.peak_bytes - 1):.2f}",
    }
    return fill_page(_WORDS, facts, {"resident": Exhibit.plain(shown)})
