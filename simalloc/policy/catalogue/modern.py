"""Today's mallocs."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families import HeapFamily
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
TITLE: Final = "allocators of today"


def _row(name: str, description: HeapFamily, source: str, reading: str) -> Policy:
    """Return the policy of a real malloc, whose constants are bytes."""
    return Policy(name, description, source, reading, groups=("real",), scale=1)


POLICIES: Final = (
    _row(
        "ptmalloc",
        Ptmalloc(mechanism=True, word=8),
        "glibc 2.36 to 2.44, malloc.c and arena.c; Gloger, ptmalloc",
        "Calls do not overlap, so no thread ever finds an arena locked.",
    ),
    _row(
        "tcmalloc",
        Tcmalloc(mechanism=True, word=8),
        "gperftools 2.18.1 and 2.10, tcmalloc_minimal",
        "The program is a C program, and the library is preloaded.",
    ),
    _row(
        "jemalloc",
        Jemalloc(mechanism=True, word=8),
        "jemalloc 5.3.1 and 5.3.0, source; recorded runs of Debian's libraries",
        "Mappings are placed as Linux places them in an empty process. Seeds are fixed.",
    ),
    _row(
        "musl",
        Musl(mechanism=True, word=8),
        "musl 1.2.3, src/malloc/mallocng",
        "The program is linked statically, so no slots are donated to the heap.",
    ),
    _row(
        "dlmalloc-2.8.6",
        Dlmalloc(),
        "Lea, malloc.c 2.8.6 of 2012",
        "The shapes of the trees do not affect placement and are not modelled.",
    ),
    _row(
        "tlsf",
        Tlsf(),
        "Conte, tlsf.c; Masmano et al. 2004",
        "The pool is as large as necessary. The heap is its used part.",
    ),
    _row(
        "mimalloc",
        Mimalloc(mechanism=True, word=8),
        "Leijen, mimalloc 3.6.0 and 2.0.9",
        "The address of the first arena is random in a real process. Here it is a parameter.",
    ),
    _row(
        "pymalloc",
        Pymalloc(mechanism=True, word=8),
        "CPython 3.11, 3.9 and 3.8, Objects/obmalloc.c",
        "The addresses of arenas are random in a real process. Here arenas begin at "
        "multiples of the pool size.",
    ),
    _row(
        "scudo",
        Scudo(mechanism=True, word=8),
        "LLVM 19.1.7, compiler-rt/lib/scudo/standalone",
        "The random numbers follow from a seed. The addresses of mappings are not random.",
    ),
)
