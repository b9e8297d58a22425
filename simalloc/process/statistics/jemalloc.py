"""The JSON of jemalloc's `malloc_stats_print` with option `J`."""

from __future__ import annotations

import json
from collections.abc import Mapping as Map
from typing import Any

from simalloc.process.statistics.statistics import ArenaFigures, ClassFigures, Statistics
from simalloc.process.target import ProcessError


def read_jemalloc(content: bytes, source: str) -> Statistics:
    """Return the figures. Raises `ProcessError` if the JSON is not from jemalloc."""
    try:
        report = json.loads(content)["jemalloc"]
        return _statistics(report, source)
    except json.JSONDecodeError as error:
        raise ProcessError(f"{source}, line {error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ProcessError(f"{source}: the JSON is nested too deeply") from None
    except (
        AttributeError, KeyError, OverflowError, StopIteration, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise ProcessError(
            f"{source}: not the output of malloc_stats_print with option J: {error!r}"
        ) from None


def _statistics(report: Map[str, Any], source: str) -> Statistics:
    # Other threads run while jemalloc counts, so a part can briefly exceed its whole.
    whole = {name: int(size) for name, size in report["stats"].items() if isinstance(size, int)}
    arenas = report["stats.arenas"]
    merged = arenas.get("merged") or next(iter(arenas.values()))
    dirty, muzzy = (_pages(report, merged, name) for name in ("pdirty", "pmuzzy"))
    cached = int(merged.get("tcache_bytes", 0))
    named = [
        ("allocated by the program", max(0, whole["allocated"] - cached)),
        ("in thread caches", cached),
        ("free in active pages", max(0, whole["active"] - whole["allocated"])),
        ("in dirty pages", dirty),
        ("in muzzy pages", muzzy),
        ("of metadata", whole.get("metadata", 0)),
    ]
    return Statistics(
        "jemalloc", source, whole["mapped"], named,
        [
            _arena(report, name, one)
            for name, one in arenas.items()
            if name not in {"merged", "destroyed"} and isinstance(one, dict)
        ],
        [*_bins(report, merged), *_large(report, merged)],
        ["Allocated bytes are rounded to size classes.",
         f"Retained, and not counted as mapped: {whole.get('retained', 0):,} bytes."],
    )  # fmt: skip


def _pages(report: Map[str, Any], arena: Map[str, Any], name: str) -> int:
    return int(arena.get(name, 0)) * int(report["arenas"]["page"])


def _arena(report: Map[str, Any], name: str, arena: Map[str, Any]) -> ArenaFigures:
    active = _pages(report, arena, "pactive")
    used = int(arena["small"]["allocated"]) + int(arena["large"]["allocated"])
    return ArenaFigures(name, active, used, max(0, active - used))


def _bins(report: Map[str, Any], merged: Map[str, Any]) -> list[ClassFigures]:
    """Return the size classes of small blocks, in descending order of free bytes."""
    found = []
    for kind, bin_ in zip(report["arenas"]["bin"], merged["bins"], strict=True):
        size, places = int(kind["size"]), int(kind["nregs"])
        used = int(bin_["curregs"])
        free = max(0, int(bin_["curslabs"]) * places - used)
        if used or free:
            found.append(ClassFigures(f"{size:,}", used, free, used * size, free * size))
    return sorted(found, key=lambda one: -(one.free or 0))


def _large(report: Map[str, Any], merged: Map[str, Any]) -> list[ClassFigures]:
    """Return the size classes of large blocks that are in use."""
    found = []
    for kind, extent in zip(report["arenas"]["lextent"], merged["lextents"], strict=True):
        size, used = int(kind["size"]), int(extent["curlextents"])
        if used:
            found.append(ClassFigures(f"{size:,}", used, 0, used * size, 0))
    return sorted(found, key=lambda one: -(one.used or 0))
