"""ESP-IDF's heap: multi_heap over Espressif's TLSF."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar, Final

from simalloc.policy.parts import Range
from simalloc.policy.parts.tlsf_lists import block_bytes, control_bytes, core_parameters
from simalloc.policy.pool.base import Pool

_HEAP: Final = 20
"""Bytes of multi_heap's structure in front of TLSF's structure."""
_GEOMETRY: Final = 16
"""Bytes of the fields with the number of lists, which is set when the heap is made."""
_FINER: Final = ((16 << 10, 3), (256 << 10, 4))
"""Maximum bytes of a heap, and the logarithm of its lists per doubling; 5 in larger heaps."""


class Release(Enum):
    """Rules of ESP-IDF by release. From 5.4 on, blocks are cut to the size of the search."""

    R55 = "55"
    R53 = "53"


@dataclass(frozen=True, kw_only=True)
class EspIdf(Pool):
    """TLSF with fewer lists in small heaps; blocks keep the rounded request size (ESP-IDF)."""

    family: ClassVar[str] = "esp idf"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Annotated[int, Range(4, 4), "Bytes of a machine word, always 4."] = 4
    release: Annotated[
        Release, "Release: 55 for ESP-IDF 5.4 to 6.1, 53 for ESP-IDF 5.1 to 5.3."
    ] = Release.R55

    @property
    def grain(self) -> int:
        """Sizes are rounded down to words."""
        return self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of the two structures and a block."""
        return _HEAP + _GEOMETRY + control_bytes(4, 1, 3) + 12

    @property
    def payload(self) -> int:
        """Bytes of the header."""
        return self.word

    def block_bytes(self, size: int) -> int:
        """Return the size of the smallest suitable block of TLSF."""
        return block_bytes(self.word, size)

    def _own_parameters(self) -> dict[str, int | str]:
        heap = self.available - _HEAP
        division = next((lists for most, lists in _FINER if heap <= most), 5)
        power = heap.bit_length()
        control = control_bytes(self.word, power - division - 1, division)
        return {
            "word": self.word,
            **core_parameters(
                control=_HEAP + _GEOMETRY + control, top=1 << power, division=division
            ),
            "wraps": False,
            "cuts_to_class": self.release is Release.R55,
        }
