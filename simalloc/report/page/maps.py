"""Heap maps as data for the page's script, which colours them, zooms and names objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from simalloc.policy import spell
from simalloc.report.browser.cells import AGE_DECADES, cells, packed, raster

if TYPE_CHECKING:
    from simalloc.report.page.findings import Mapped

_LEVEL: Final = 9
"""How hard cells are deflated: a page is sent to people."""


def map_data(mapped: Mapped, oldest: float, top: float) -> dict[str, Any]:
    """Return one map for the script; `oldest` and `top` are shared by maps that are compared."""
    stays = mapped.stays
    return {
        "policy": spell(mapped.run.policy),
        "events": mapped.run.events,
        "top": top,
        "oldest": oldest,
        "decades": AGE_DECADES,
        "raster": raster(mapped.map),
        "cells": packed(cells(mapped.map, oldest), _LEVEL),
        "stays": [
            column.tolist()
            for column in (stays.object, stays.address, stays.requested, stays.since, stays.until)
        ],
    }
