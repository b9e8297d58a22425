"""The mallocs of Detlefs, Dosser & Zorn 1993, each from its source where one was found."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.gnu import Gnu
from simalloc.policy.families.gxx import Gxx
from simalloc.policy.families.quick_fit import QuickFit

GROUP: Final = "detlefs"

_REAL: Final = ("real",)

POLICIES: Final = (
    Policy(
        "gnu-1993",
        Gnu(),
        source="Haertel, GNU libc malloc of 1993-09-22; Detlefs, Dosser & Zorn 1993, section 2",
        reading=(
            "A stand-in: the paper's GNU' of 1993-07-16 was not found, and this is the nearest "
            "relative. 1993 and 1995 place alike."
        ),
        groups=_REAL,
    ),
    Policy(
        "g++-2.5",
        Gxx(),
        source="Lea, malloc.c 2.5 of 1993-08-07; Detlefs, Dosser & Zorn 1993, section 2",
        reading="Version 2.5 is taken for the paper's: its history says that it was made for it.",
        groups=_REAL,
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
