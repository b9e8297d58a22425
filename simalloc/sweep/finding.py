"""Search for the traces that a plan names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from simalloc.errors import PlanError, SimallocError, TraceError
from simalloc.policy.choice import listed
from simalloc.sweep.source import (
    FileSource,
    LogSource,
    MemorySource,
    Source,
    SyntheticSource,
    WorkloadSource,
)
from simalloc.trace import Trace
from simalloc.trace.catalogue import find_trace
from simalloc.trace.reader import is_trace_file
from simalloc.trace.workloads import WORKLOADS, Synthetic
from simalloc.trace.workloads.provenance import SEED

_FILE: Final = re.compile(r"(?<=[:,]file=)[^,]+")


def find_sources(given: object, folder: Path) -> tuple[Source, ...]:
    """Return the sources of the `traces` of a plan, each trace once.

    Each entry is a `Trace`, a path or a pattern such as `logs/*.npz` (relative to `folder`, with
    `**` for folders at any depth), or the name of a trace that `simalloc traces` lists. Raises
    `PlanError` for an entry that cannot be found or is not a trace.
    """
    found: list[Source] = []
    for item in listed(given):
        try:
            found += _sources(item, folder)
        except (SimallocError, OSError) as error:
            raise PlanError(str(error), key=("traces",), value=item) from None
    return unique(found)


def find_workloads(given: object, folder: Path) -> tuple[Source, ...]:
    """Return the sources of the `workloads` of a plan: tables by name, with a `seed` or seeds.

    A table whose name is not in the catalogue describes a synthetic workload by the fields of
    `Synthetic`. The paths of files in it are relative to `folder`.
    """
    if not isinstance(given, dict):
        raise PlanError("workloads are tables, as in [workloads.lrusim]", key=("workloads",))
    found: list[Source] = []
    for name, table in given.items():
        key = ("workloads", name)
        if not isinstance(table, dict):
            raise PlanError(f"{name} is not a table, as in [workloads.{name}]", key=key)
        seeds = [_checked(seed, (*key, "seed")) for seed in listed(table.get("seed", SEED))]
        described = {field: value for field, value in table.items() if field != "seed"}
        if name in WORKLOADS:
            if described:
                raise PlanError(
                    f"{name} has keys other than seed, the only key of a workload", key=key
                )
            found += [WorkloadSource.of(name, seed) for seed in seeds]
        else:
            synthetic = _synthetic(name, described, folder)
            found += [SyntheticSource.of(name, seed, synthetic) for seed in seeds]
    return unique(found)


def _synthetic(name: str, described: dict[str, Any], folder: Path) -> Synthetic:
    """Return the synthetic workload that a table of a plan describes."""
    known = [field.name for field in fields(Synthetic)]
    if not described:
        listing = ", ".join(WORKLOADS)
        raise PlanError(
            f"unknown workload {name!r}; choose one of {listing}, or a distribution described "
            f"by {', '.join(known)}",
            key=("workloads", name),
        )
    for key, value in described.items():
        if key not in known:
            raise PlanError(
                f"a workload has no key {key!r}; it has seed, {', '.join(known)}",
                key=("workloads", name, key),
            )
        if isinstance(value, str):
            described[key] = _FILE.sub(lambda found: str(folder.resolve() / found[0]), value)
    try:
        return Synthetic(**described)
    except (SimallocError, TypeError, AttributeError) as error:
        raise PlanError(str(error), key=("workloads", name)) from None


def unique(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return the sources without repeated traces."""
    kept: dict[str, Source] = {}
    for source in sources:
        kept.setdefault(source.sha256, source)
    return tuple(kept.values())


def _checked(seed: Any, key: tuple[str, ...]) -> int:
    if type(seed) is not int or seed < 0:
        raise PlanError(f"seed is {seed!r}; use whole numbers from 0", key=key, value=seed)
    return seed


def _sources(item: object, folder: Path) -> list[Source]:
    if isinstance(item, Trace):
        return [MemorySource.of(item)]
    if not isinstance(item, (str, Path)):
        raise TraceError(f"{item!r} is not a trace, a name or a path")
    return [
        FileSource.of(path) if is_trace_file(path) else LogSource.of(path)
        for path in _paths(Path(item), folder)
    ]


def _paths(item: Path, folder: Path) -> list[Path]:
    if not set("*?[") & set(str(item)):
        path = folder / item
        return [path if path.is_file() else find_trace(item)]
    start = Path(item.anchor or folder)
    try:
        matching = list(start.glob(str(item.relative_to(item.anchor))))
    except (ValueError, NotImplementedError) as error:  # these errors have no common base
        raise TraceError(f"{str(item)!r} is not a pattern of paths: {error}") from None
    found = sorted(path for path in matching if path.is_file())
    if not found:
        raise TraceError(f"no file matches {str(item)!r} in {folder.resolve()}")
    return found
