"""Kingsley's allocator, which brackets the ULTRIX malloc of Detlefs, Dosser & Zorn 1993."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.kingsley import Kingsley, Variant

GROUP: Final = "real"
TITLE: Final = "real allocators, past and present"

_READING: Final = (
    "Only the allocator moves the break, and a page has 4096 bytes. mechanism=on adds "
    "the word in front of each block."
)

POLICIES: Final = (
    Policy(
        "kingsley",
        Kingsley(Variant.BSD_4_2),
        source="C. Kingsley, malloc.c of 4.2BSD, September 1983",
        reading=_READING,
        scale=1,
    ),
    Policy(
        "kingsley-4.4bsd",
        Kingsley(Variant.BSD_4_4),
        source="malloc.c of 4.4BSD, with the rules from November 1984 on",
        reading=_READING,
        scale=1,
    ),
)
