"""The mallocs of today."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.dlmalloc import Dlmalloc
from simalloc.policy.families.jemalloc import Jemalloc
from simalloc.policy.families.mimalloc import Mimalloc
from simalloc.policy.families.musl import Musl
from simalloc.policy.families.ptmalloc import Ptmalloc
from simalloc.policy.families.pymalloc import Pymalloc
from simalloc.policy.families.scudo import Scudo
from simalloc.policy.families.tcmalloc import Tcmalloc
from simalloc.policy.families.tlsf import Tlsf

GROUP: Final = "modern"

_REAL: Final = ("real",)

POLICIES: Final = (
    Policy(
        "ptmalloc",
        Ptmalloc(mechanism=True, word=8),
        source="glibc 2.36 to 2.44, malloc.c and arena.c; Gloger, ptmalloc",
        reading="Calls come one at a time, so that no thread finds an arena locked.",
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "tcmalloc",
        Tcmalloc(mechanism=True, word=8),
        source="gperftools 2.18.1 and 2.10, tcmalloc_minimal",
        reading="The program is a C one that the library is loaded into before it starts.",
        scale=1,
        groups=_REAL,
    ),
    Policy(
        "jemalloc",
        Jemalloc(mechanism=True, word=8),
        source="jemalloc 5.3.1 and 5.3.0, source; recorded runs of Debian's libraries",
        reading="Mappings lie as Linux places those of an empty process; seeds are fixed.",
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "musl",
        Musl(mechanism=True, word=8),
        source="musl 1.2.3, src/malloc/mallocng",
        reading="The program is linked statically, so no slots are donated to the heap.",
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "dlmalloc-2.8.6",
        Dlmalloc(),
        source="Lea, malloc.c 2.8.6 of 2012",
        reading="The shapes of the trees do not matter for where blocks go and are not modelled.",
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "tlsf",
        Tlsf(),
        source="Conte, tlsf.c; Masmano et al. 2004",
        reading="The pool is as large as it must be, and the heap is the part of it that was used.",
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "mimalloc",
        Mimalloc(mechanism=True, word=8),
        source="Leijen, mimalloc 3.6.0 and 2.0.9",
        reading="Where the first arena lies is random; here it is a parameter.",
        scale=1,
        groups=_REAL,
    ),
    Policy(
        "pymalloc",
        Pymalloc(mechanism=True, word=8),
        source="CPython 3.11, 3.9 and 3.8, Objects/obmalloc.c",
        reading="Where arenas begin is random; here they begin where a pool may.",
        groups=_REAL,
        scale=1,
    ),
    Policy(
        "scudo",
        Scudo(mechanism=True, word=8),
        source="LLVM 19.1.7, compiler-rt/lib/scudo/standalone",
        reading="The random numbers are those of a seed; the addresses of mappings are not random.",
        groups=_REAL,
        scale=1,
    ),
)
