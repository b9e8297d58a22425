"""Memory in several regions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from simalloc.errors import PolicyError

MAX_REGIONS: Final = 8


class Region(NamedTuple):
    """A region of memory, in bytes from the start of the first region."""

    start: int
    size: int


def read_regions(text: str, capacity: int, available: int) -> list[Region]:
    """Return the regions of `OFFSET+SIZE+OFFSET+SIZE...`.

    A size of `N` is `capacity`. If `capacity` is 0, it is all bytes up to the next region, or the
    `available` bytes in the last region.
    """
    if re.fullmatch(r"\d{1,15}\+(\d{1,15}|N)(\+\d{1,15}\+(\d{1,15}|N))*", text) is None:
        raise PolicyError(
            f"regions is {text!r}; use OFFSET+SIZE+OFFSET+SIZE..., such as 0+4096+65536+N"
        )
    parts = text.split("+")
    starts = [int(part) for part in parts[::2]]
    rooms = [end - start for start, end in pairwise(starts)] + [available]
    return [
        Region(start, (capacity or room) if size == "N" else int(size))
        for start, size, room in zip(starts, parts[1::2], rooms, strict=True)
    ]


def check_regions(text: str, regions: Sequence[Region], least: int) -> None:
    """Raise `PolicyError` for regions that overlap or have fewer than `least` bytes."""
    if len(regions) > MAX_REGIONS:
        raise PolicyError(
            f"regions lists {len(regions)} regions; at most {MAX_REGIONS} can be simulated"
        )
    end = 0
    for start, size in regions:
        if start < end:
            raise PolicyError(
                f"regions is {text!r}: the region at {start} begins below {end}, the end of the "
                "previous region"
            )
        if size < least:
            raise PolicyError(
                f"regions is {text!r}: the region at {start} has {size} bytes; with these "
                f"parameters a region takes at least {least}"
            )
        end = start + size


def region_parameters(regions: Sequence[Region]) -> dict[str, int | str]:
    """Return the core's parameters of regions."""
    all_of_them = [*regions, *[Region(0, 0)] * (MAX_REGIONS - len(regions))]
    return {
        name: value
        for number, region in enumerate(all_of_them)
        for name, value in ((f"start_{number}", region.start), (f"size_{number}", region.size))
    }


def spell_in_region(regions: Sequence[Region], number: int, offset: float) -> str:
    """Return the number of a region and the offset in it."""
    return f"{number}:{offset - regions[number].start}"
