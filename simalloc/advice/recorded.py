"""Measurements and properties of the process that was recorded in a trace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.advice.candidates import MODELS

_LIBRARY: Final = re.compile(r"/lib(jemalloc|tcmalloc|mimalloc)[^/]*$")
"""File name of the library of a malloc other than the C library's, as a recording names it."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """Measurements of a recorded process by the kernel: samples of resident and mapped bytes.

    `event` has the number of the event before each sample, and `time` the nanoseconds since the
    start; all four arrays are int64. `allocator` served the program, in the release `version`
    (empty if unknown). It is assumed unless `is_named`. `kinds` has the resident bytes by kind of
    memory, if known. `built_in` names an allocator in the program itself, whose blocks are missing
    from the trace (empty if none was found). `cpu_seconds` is the CPU time of the process, or None
    if unknown. `mappings` has a row for each call site that mapped memory directly
    (docs/trace-format.md). `second_malloc` is another library that served the program besides
    malloc's (empty if none), and `second_allocations` is the number of its recorded allocations.
    """

    allocator: str
    version: str
    event: NDArray[np.int64]
    time: NDArray[np.int64]
    resident: NDArray[np.int64]
    mapped: NDArray[np.int64]
    is_named: bool = True
    kinds: Mapping[str, int] = field(default_factory=dict)
    built_in: str = ""
    cpu_seconds: float | None = None
    mappings: Sequence[Mapping[str, Any]] = ()
    second_malloc: str = ""
    second_allocations: int = 0

    @property
    def has_model(self) -> bool:
        """True if the malloc that served the program has a model."""
        return self.allocator in MODELS

    @property
    def has_samples(self) -> bool:
        """True if the process was sampled during its run."""
        return len(self.event) > 0


def recorded(provenance: Mapping[str, Any]) -> Recorded:
    """Return the recorded process of a trace's provenance; glibc's malloc is the default."""
    samples = np.array(provenance.get("resident") or np.empty((0, 4)), np.int64).reshape(-1, 4)
    served = str(provenance.get("malloc", "glibc"))
    allocator, _, version = served.partition(" ")
    if library := _LIBRARY.search(allocator):
        allocator = library[1]
    event, time, resident, mapped = samples.T
    named = "malloc" in provenance
    second = provenance.get("second_malloc") or {"library": "", "allocations": 0}
    return Recorded(
        allocator,
        version,
        event,
        time,
        resident,
        mapped,
        is_named=named,
        kinds=_largest(provenance.get("resident_by_kind")),
        built_in=str(provenance.get("built_in") or ""),
        cpu_seconds=provenance.get("cpu_seconds"),
        mappings=provenance.get("mappings") or (),
        second_malloc=second["library"],
        second_allocations=second["allocations"],
    )


def _largest(entries: object) -> dict[str, int]:
    """Return the resident bytes by kind at their maximum total, without malformed entries.

    An entry consists of a time and a mapping.
    """
    looks = [
        {str(kind): size for kind, size in look[1].items() if type(size) is int}
        for look in (entries if isinstance(entries, list) else [])
        if isinstance(look, list) and len(look) == 2 and isinstance(look[1], dict)
    ]
    return max(looks, key=lambda look: sum(look.values()), default={})
