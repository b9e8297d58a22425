"""The page for docs. Its text is in `page.md`, its figures come from the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Final

from experiments.mallocs import glibc_here
from experiments.output import fill_page
from experiments.threads.arenas import Held
from experiments.threads.measuring import CORES, Beside, Compared, Measured
from experiments.threads.picture import draw_footprints
from experiments.threads.processes import SETTINGS
from simalloc.report import Rounded, Table
from simalloc.report.settings import settings_table
from simalloc.report.table import Value

PAGE: Final = "threads.md"
PICTURE: Final = "threads-arenas.png"

_WORDS: Final = Path(__file__).with_name("page.md")


def tables(measured: Measured) -> dict[str, Table]:
    """Return the tables of the page."""
    return {
        "arenas": _arenas_table(measured.apart.arenas),
        "resident": _replays_table(measured.compared),
        "settings": settings_table(measured.apart.program, measured.apart.tried),
        "processes": _processes_table(measured.beside),
    }


def pictures(measured: Measured) -> Iterator[tuple[str, bytes]]:
    """Yield the picture of the program in detail: its file name, and a PNG."""
    titles = [each.replace("=", " = ") or "default" for each in SETTINGS]
    image, _ = draw_footprints(measured.apart.runs, titles)._repr_png_()
    yield PICTURE, image


def _arenas_table(arenas: Sequence[Held]) -> Table:
    """Return the bytes of each arena at the end, and their sums."""
    rows: list[Sequence[Value]] = [astuple(one) for one in arenas]
    sums = [sum(values) for values in zip(*map(astuple, arenas), strict=True)]
    columns = ("arena", "threads", "from the system", "live", "resident", "after malloc_trim")
    return Table("Bytes of each arena at the end", columns, [*rows, ("all", *sums[1:])])


def _replays_table(compared: Sequence[Compared]) -> Table:
    """Return the resident bytes at the peak and at the end, in glibc and in its model."""
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


def _processes_table(found: Sequence[Beside]) -> Table:
    """Return the peaks of the programs' own runs, beside model and replay."""
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


def _resident(worst: Compared) -> str:
    """Return a sentence on the model's resident peaks, given the peak farthest from glibc's."""
    percent = 100 * abs(worst.model.peak_bytes / worst.real.peak_bytes - 1)
    if not percent:
        return "the resident peaks are too"
    where = f"{worst.program}, {worst.settings}"
    return f"the resident peaks differ by at most {percent:.2f} % ({where})"


def _megabytes(values: Sequence[int]) -> str:
    return f"{min(values) / 1e6:.2f} to {max(values) / 1e6:.2f}"


def _distance(one: Beside) -> float:
    """Return the model's relative distance from the range of the process's runs, or 0 inside it."""
    low, high = min(one.process.heap), max(one.process.heap)
    nearest = min(max(one.compared.model.peak_bytes, low), high)
    return abs(one.compared.model.peak_bytes / nearest - 1)


def page(measured: Measured, shown: Mapping[str, Table]) -> str:
    """Return the page as Markdown."""
    compared, found = measured.compared, measured.beside
    default = [one for one in compared if one.settings == "default"]
    single = {one.program: one for one in compared if one.settings == "arena_max=1"}
    apart = measured.apart
    most = next(one for one in default if one.program == apart.program)
    mapped = sum(one.real_mapped.peak_bytes == one.model_mapped.peak_bytes for one in compared)
    worst = max(compared, key=lambda one: abs(one.model.peak_bytes / one.real.peak_bytes - 1))
    farthest = max(found, key=_distance)
    facts = {
        "here": glibc_here(),
        "cores": CORES,
        "rows": len(compared),
        "mapped": mapped,
        "most": most.program,
        "most_default": f"{most.real.peak_bytes / 1e6:.2f}",
        "most_single": f"{single[most.program].real.peak_bytes / 1e6:.2f}",
        "most_live": f"{most.live / 1e6:.2f}",
        "final_live": most.final_live,
        "final": f"{most.real.final_bytes / 1e6:.2f}",
        "arenas": len(apart.arenas),
        "picture": PICTURE,
        "trimmed_model": f"{apart.trimmed[0] / 1e6:.2f}",
        "trimmed_real": f"{apart.trimmed[1] / 1e6:.2f}",
        "resident": _resident(worst),
    }
    heaps = {(one.compared.program, one.compared.settings): one.process.heap for one in found}
    facts |= {
        "apart": max(max(heap) / min(heap) for heap in heaps.values()),
        "itself_default": _megabytes(heaps[most.program, "default"]),
        "itself_single": _megabytes(heaps[most.program, "arena_max=1"]),
        "runs": len(found[0].process.heap),
        "orders": len(found[0].orders),
        "programs": len({one.compared.program for one in found}),
        "farthest": farthest.compared.program,
        "farthest_setting": farthest.compared.settings,
        "farthest_percent": f"{100 * _distance(farthest):.1f}",
    }
    return fill_page(_WORDS, facts, shown)
