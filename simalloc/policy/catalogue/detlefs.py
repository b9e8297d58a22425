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
            "A substitute, because the source of ULTRIX, a descendant of 4.2BSD, is not public. "
            "The heap for Espresso in the paper's table 9 differs by at most 1 % from the heap of "
            "this 4.4BSD malloc. variant=4.2bsd selects the other known relative of ULTRIX."
        ),
    ),
    Policy(
        "bw-gc-2.6",
        BwGc(),
        source="Boehm & Demers, gc 2.6; Detlefs, Dosser & Zorn 1993, section 2",
        reading=(
            "Frees are ignored. An object becomes garbage exactly at its free event, and no "
            "garbage is retained by mistake. The order and sizes of the tables are from the "
            "nearest available sources."
        ),
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "gnu-1993",
        Gnu(),
        source="Haertel, GNU libc malloc of 1993-09-22; Detlefs, Dosser & Zorn 1993, section 2",
        reading=(
            "A substitute: the paper's GNU' of 1993-07-16 was not found, and this is the nearest "
            "version. The versions of 1993 and 1995 place objects identically."
        ),
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "g++-2.5",
        Gxx(),
        source="Lea, malloc.c 2.5 of 1993-08-07; Detlefs, Dosser & Zorn 1993, section 2",
        reading=(
            "We assume that the paper measured version 2.5, because its change log says that it "
            "was prepared for this comparison."
        ),
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "quick-fit",
        QuickFit(),
        source="Weinstock & Wulf 1988; Detlefs, Dosser & Zorn 1993, section 2",
        reading=(
            "Reconstructed, because no source was found. Cells are cut from areas of 4096 bytes "
            "that G++ allocates. The end of an area that is too small for a cell is wasted."
        ),
        groups=("gabber",),
    ),
)
