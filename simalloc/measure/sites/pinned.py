"""Free bytes of pages that are occupied only by one site's objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import HOLE, HeapSnapshot


@dataclass(frozen=True, eq=False)
class Held:
    """Bytes of a heap that the objects of each site hold at one moment; one entry per site.

    A page with a live byte cannot be returned to the system. Its free bytes are all mapped bytes
    that no live object requested. They are **pinned** by a site if only its objects are in the
    page. If several sites have objects in the page, each has an equal **share** of the free bytes.
    `rounding_bytes` are the bytes of a site's own blocks beyond the requested sizes; they are also
    free bytes of their pages. The sums of `pinned_bytes` and `shared_bytes` are the free bytes of
    all occupied pages.
    """

    event: int
    """Number of the event that precedes the moment."""
    pinned_bytes: NDArray[np.float64]
    shared_bytes: NDArray[np.float64]
    rounding_bytes: NDArray[np.float64]
    free_bytes: float
    """Mapped bytes of occupied pages that no live object requested."""


def held_by(
    snapshot: HeapSnapshot,
    site: NDArray[np.int64],
    sites: int,
    *,
    scale: int,
    page: int = 4096,
    payload: int = 0,
) -> Held:
    """Return the bytes that each of `sites` sites holds; `site` is the site of each block.

    `page` is in bytes of the program. The heap is in scaled bytes, with `scale` scaled bytes per
    byte of the program, and an object begins `payload` scaled bytes after its block. Blocks without
    an object may have any site.
    """
    taken = (snapshot.object >= 0) & (snapshot.requested > 0)
    start = snapshot.exact_address[taken] + payload
    size = snapshot.requested[taken] * scale
    owner, unit = site[taken], page * scale
    number, key, live = _edges(start, size, owner, unit)
    pages, place = np.unique(number, return_inverse=True)
    in_page = np.zeros(len(pages), np.int64)
    np.add.at(in_page, place, live)
    free = _mapped(snapshot, pages, unit) - in_page
    page_of, site_of = np.divmod(np.unique(place * sites + key), sites)
    owners = np.bincount(page_of, minlength=len(pages))
    alone = owners[page_of] == 1
    each = free[page_of] / owners[page_of] / scale

    def total(of: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(of, values, minlength=sites).astype(np.float64)

    return Held(
        event=snapshot.event,
        pinned_bytes=total(site_of[alone], each[alone]),
        shared_bytes=total(site_of[~alone], each[~alone]),
        rounding_bytes=total(owner, (snapshot.exact_size[taken] - size) / scale),
        free_bytes=float(free.sum()) / scale,
    )


def _edges(
    start: NDArray[np.int64],
    size: NDArray[np.int64],
    owner: NDArray[np.int64],
    page: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return number, owner and live bytes of the first and the last page of each object.

    The pages between them are full and contain only this object.
    """
    end = start + size
    first, last = start // page, (end - 1) // page
    several = first < last
    number = np.concatenate((first, last[several]))
    owners = np.concatenate((owner, owner[several]))
    head = np.where(several, (first + 1) * page - start, size)
    return number, owners, np.concatenate((head, (end - last * page)[several]))


def _mapped(snapshot: HeapSnapshot, pages: NDArray[np.int64], page: int) -> NDArray[np.int64]:
    """Return the mapped bytes of some pages."""
    mapped = snapshot.object != HOLE
    start, size = snapshot.exact_address[mapped], snapshot.exact_size[mapped]
    below = np.concatenate((np.zeros(1, np.int64), np.cumsum(size)))

    def up_to(place: NDArray[np.int64]) -> NDArray[np.int64]:
        index = np.maximum(np.searchsorted(start, place, side="right") - 1, 0)
        found: NDArray[np.int64] = below[index] + np.clip(place - start[index], 0, size[index])
        return found

    return up_to((pages + 1) * page) - up_to(pages * page)
