"""The malloc of SunOS 4: baseline of Johnstone & Wilson 1998, and related to Rezaei's trees."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.cartesian import Cartesian

GROUP: Final = "rezaei"

POLICIES: Final = (
    Policy(
        "sunos-cartesian",
        Cartesian(),
        source="Sun, malloc.c of SunOS 4, 1986; Stephenson 1983",
        reading="Headers are those of a 68k. machine=sparc selects the larger headers of SPARC.",
        groups=("real",),
    ),
)
