"""The mallocs of Detlefs, Dosser & Zorn 1993, modelled after their source code where found."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.bw_gc import BwGc
from simalloc.policy.families.gnu import Gnu
from simalloc.policy.families.gxx import Gxx
from simalloc.policy.families.kingsley import Kingsley, Variant
from simalloc.policy.families.quick_fit import QuickFit

GROUP: Final = "detlefs"
TITLE: Final = "the allocators of Detlefs, Dosser & Zorn 1993"

_REAL: Final = ("real",)

POLICIES: Final = (
    Policy(
        "ultrix",
        Kingsley(Variant.BSD_4_4),
        source="Detlefs, Dosser & Zorn 1993, section 2; C. Kingsley, malloc.c of 4.4BSD",
        reading=(
            "A stand-in: the source of ULTRIX is not public. It descends from 4.2BSD. Its heap for "
            "Espresso in the paper's table 9 is that of the variant with pages, within 1 %. "
            "The other extreme is variant=4.2bsd."
        ),
    ),
    Policy(
        "bw-gc-2.6",
        BwGc(),
        source="Boehm & Demers, gc 2.6; Detlefs, Dosser & Zorn 1993, section 2",
        reading=(
            "Frees are ignored; an object dies exactly at its free event, so that nothing is kept "
            "by mistake. The tables' order and sizes are those of the nearest sources."
        ),
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "gnu-1993",
        Gnu(),
        source="Haertel, GNU libc malloc of 1993-09-22; Detlefs, Dosser & Zorn 1993, section 2",
        reading=(
            "A stand-in: the paper's GNU' of 1993-07-16 was not found, and this is the nearest "
            "relative. 1993 and 1995 place alike."
        ),
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "g++-2.5",
        Gxx(),
        source="Lea, malloc.c 2.5 of 1993-08-07; Detlefs, Dosser & Zorn 1993, section 2",
        reading="Version 2.5 is taken for the paper's: its change log says so.",
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "quick-fit",
        QuickFit(),
        source="Weinstock & Wulf 1988; Detlefs, Dosser & Zorn 1993, section 2",
        reading=(
            "Reconstructed: no source was found. The area that cells are cut from is 4096 bytes of "
            "G++, and the end of it that is too small for a cell is wasted."
        ),
        groups=("gabber",),
    ),
)
