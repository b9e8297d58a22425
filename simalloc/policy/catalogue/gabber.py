"""The mallocs of Bohra & Gabber 2001 (Hummingbird), after their source code where found."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.csri import Csri
from simalloc.policy.families.gnu import Gnu
from simalloc.policy.families.lea import Lea
from simalloc.policy.families.modified_buddy import ModifiedBuddy
from simalloc.policy.families.phk import Phk
from simalloc.policy.families.solaris import Solaris
from simalloc.policy.families.solaris_3x import Solaris3x
from simalloc.policy.families.vmalloc import Vmalloc

GROUP: Final = "gabber"
TITLE: Final = "the allocators of Bohra & Gabber 2001"

_REAL: Final = ("real",)

POLICIES: Final = (
    Policy(
        "phk",
        Phk(),
        source="Kamp, malloc.c of FreeBSD, in NetBSD 1.29 of 2000; Bohra & Gabber 2001, section 3",
        reading=(
            "We assume that the paper's version 42 is the revision of the beer-ware licence, not "
            "of the code."
        ),
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "solaris-default",
        Solaris(),
        source="Sun, libc malloc.c 1.33 of OpenSolaris 2006; Bohra & Gabber 2001, section 3",
        reading=(
            "The paper's SunOS 5.6 is older than the available source. The tree is a splay tree, "
            "but placement does not depend on its shape."
        ),
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "gnu-1995",
        Gnu(),
        source="Haertel, gmalloc.c of 1995; Bohra & Gabber 2001, section 3",
        reading="The versions of 1993 and 1995 place objects identically. They differ only in "
        "bookkeeping.",
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "modified-binary-buddy",
        ModifiedBuddy(),
        source="Bohra & Gabber 2001, section 3",
        reading=(
            "Reconstructed, because no source was found. Our choices are the smallest block, the "
            "order of the lists, the neighbour that merges first, and the growth of the heap."
        ),
    ),
    Policy(
        "lea-2.6.6",
        Lea(),
        source="Lea, malloc.c 2.6.6 of 2000; Bohra & Gabber 2001, section 3",
        reading=(
            "With mechanism=off, the top may become smaller than the smallest block, and every "
            "remainder is split off."
        ),
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "csri-1.18",
        Csri(),
        source="Moraes, malloc 1.18alpha of CSRI, Toronto; Bohra & Gabber 2001, section 3",
        reading="A word has 4 bytes, as on 32-bit x86. Bins and tags scale with the word.",
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "vmalloc",
        Vmalloc(),
        source="Vo, Vmalloc of 1994 in the state of August 1999; Bohra & Gabber 2001, section 3",
        reading=(
            "The method is Vmbest, which malloc uses. The tree is a splay tree, but placement "
            "does not depend on its shape."
        ),
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "solaris-3x",
        Solaris3x(),
        source="Sun, libmalloc malloc.c of OpenSolaris 2006; Bohra & Gabber 2001, section 3",
        reading="A request of 0 bytes gets a cell; the real allocator returns no block.",
        groups=_REAL,
        scale=1,
    ),
)
