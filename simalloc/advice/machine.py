"""The machine that a program runs on, as far as models of mallocs depend on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from simalloc.errors import SimallocError

ASSUMED_CORES: Final = 8
"""Number of cores of an unknown machine."""

_MAX_CORES: Final = 1 << 12
_PAGE: Final = 4096
_THP: Final = ("always", "madvise", "never")


@dataclass(frozen=True)
class Machine:
    """Parameters of the machine for the models; `source` is the origin of the number of cores.

    `source` is `recorded` (in the trace's provenance), `given` (an option) or `assumed`. `page` is
    in bytes. `quota` is a container's limit of CPU time in cores, and `thp` the mode of transparent
    huge pages. Unknown values are 0 for `quota`, empty for `thp` and -1 for `overcommit`.
    """

    cores: int = ASSUMED_CORES
    source: str = "assumed"
    page: int = _PAGE
    quota: float = 0.0
    thp: str = ""
    overcommit: int = -1

    @property
    def cores_known(self) -> int:
        """The number of cores, or 0 if it is assumed."""
        return 0 if self.source == "assumed" else self.cores

    @property
    def text(self) -> str:
        """The machine as a sentence."""
        origin = "assumed; use --cores" if self.source == "assumed" else self.source
        cores = f"{self.cores} core{'s' if self.cores != 1 else ''} ({origin})"
        known = [
            cores,
            f"a CPU quota of {self.quota:g} cores" if self.quota else "",
            f"pages of {self.page >> 10} KiB",
            f"transparent huge pages: {self.thp}" if self.thp else "",
            f"overcommit_memory: {self.overcommit}" if self.overcommit >= 0 else "",
        ]
        return f"Machine: {', '.join(filter(None, known))}."


def machine_of(provenance: Mapping[str, Any], cores: int | None = None) -> Machine:
    """Return the machine that a trace was recorded on, or a machine with `cores` cores.

    Missing or malformed values in the provenance are replaced by assumed ones. Raises
    `SimallocError` if `cores` is out of range.
    """
    if cores is not None and not 1 <= cores <= _MAX_CORES:
        raise SimallocError(f"cores is {cores}; use 1 to {_MAX_CORES}")
    recorded = _whole(provenance.get("cores"), 1, _MAX_CORES)
    page = _whole(provenance.get("page"), 1 << 10, 1 << 30) or _PAGE
    quota, thp = provenance.get("cpu_quota"), provenance.get("thp")
    return Machine(
        cores=cores or recorded or ASSUMED_CORES,
        source="given" if cores else "recorded" if recorded else "assumed",
        page=page if page & (page - 1) == 0 else _PAGE,
        quota=float(quota) if isinstance(quota, (int, float)) and 0 < quota < _MAX_CORES else 0.0,
        thp=thp if thp in _THP else "",
        overcommit=_whole(provenance.get("overcommit"), 0, 2, -1),
    )


def _whole(value: object, low: int, high: int, otherwise: int = 0) -> int:
    """Return a whole number within a range, or `otherwise`."""
    return value if type(value) is int and low <= value <= high else otherwise
