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

    from experiments.threads.measuring import Beside, Compared
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


def processes_table(found: Sequence[Beside]) -> Table:
    """Return what the programs themselves hold at their peaks, beside model and replay."""
    rows: list[Sequence[Value]] = [
        (
            one.compared.program,
            one.compared.settings,
            int(one.compared.model.peak_bytes),
            _range(one.orders),
            int(one.compared.real.peak_bytes),
            _range(one.process.heap),
            _range(one.process.whole),
            one.recorded or None,
        )
        for one in found
    ]
    columns = (
        "program", "settings", "model", "model, other orders", "glibc, replay", "process, heap",
        "process, whole", "recorded, whole",
    )  # fmt: skip
    return Table("Resident bytes at the peak", columns, rows)


def _range(values: Sequence[int]) -> str:
    return f"{min(values):,} to {max(values):,}"


def _distance(one: Beside) -> float:
    """Return by what share the model misses the runs of the process; 0: it lies among them."""
    low, high = min(one.process.heap), max(one.process.heap)
    nearest = min(max(one.compared.model.peak_bytes, low), high)
    return abs(one.compared.model.peak_bytes / nearest - 1)


def page(compared: Sequence[Compared], shown: Table, found: Sequence[Beside], beside: Table) -> str:
    """Return the page as Markdown."""
    default = [one for one in compared if one.settings == "default"]
    single = {one.program: one for one in compared if one.settings == "arena_max=1"}
    most = max(default, key=lambda one: one.real.peak_bytes / single[one.program].real.peak_bytes)
    mapped = sum(one.real_mapped.peak_bytes == one.model_mapped.peak_bytes for one in compared)
    worst = max(compared, key=lambda one: abs(one.model.peak_bytes / one.real.peak_bytes - 1))
    farthest = max(found, key=_distance)
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
    facts |= {
        "runs": len(found[0].process.heap),
        "orders": len(found[0].orders),
        "programs": len({one.compared.program for one in found}),
        "farthest": farthest.compared.program,
        "farthest_setting": farthest.compared.settings,
        "farthest_percent": f"{100 * _distance(farthest):.0f}",
    }
    exhibits = {"resident": Exhibit.plain(shown), "processes": Exhibit.plain(beside)}
    return fill_page(_WORDS, facts, exhibits)
