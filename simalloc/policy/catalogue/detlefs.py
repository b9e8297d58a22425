"""The mallocs of Detlefs, Dosser & Zorn 1993, each from its source where one was found."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.gnu import Gnu

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
)
