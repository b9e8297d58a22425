"""The allocators of Rezaei & Kavi 2016, figure 3 and the variants in the text.

The paper's sizes are for 32-bit machines and not multiplied: replay with scale 1.
"""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.address_trees import AddressTrees, TreeFit
from simalloc.policy.families.segregated_fit import ListFit, SegregatedFit
from simalloc.policy.parts import Coalescing

GROUP: Final = "rezaei"
TITLE: Final = "the allocators of Rezaei & Kavi 2016"

_PAPER: Final = "Rezaei & Kavi 2016"
_CLASSES: Final = 8

_LIST_READING: Final = (
    "A freed block enters the list at the front. The remainder of a split block keeps "
    "its position. Blocks have at least 12 bytes."
)
_TAGS: Final = " Neighbours are found by boundary tags."
_SEGREGATED: Final = (
    " The paper does not state the classes. Here, they are the size ranges of the paper's eight "
    "trees; the last begins at 448 bytes."
)
_TREE_READING: Final = (
    "Trees are never balanced. The low end of a split block is used, and the remainder "
    "stays at its node. Blocks have at least 24 bytes."
)
_ONE: Final = (
    " A freed block merges with the first neighbour that the insertion meets, as in the paper's "
    "INSERT."
)
_BETTER: Final = (
    " At each node, the search compares three sizes: the node's size and the largest size in each "
    "subtree. It follows the smallest of these sizes that fits."
)
_EIGHT: Final = " There are eight trees; the last contains blocks of at least 448 bytes."


def _list(fit: ListFit, *, coalescing: bool = False, segregated: bool = False) -> Policy:
    name = f"{'sgf' if segregated else 'sqf'}-{fit.value[0]}f{'wc' if coalescing else ''}"
    description = SegregatedFit(
        fit,
        classes=_CLASSES if segregated else 1,
        coalescing=Coalescing.ALL if coalescing else Coalescing.NONE,
    )
    reading = _LIST_READING + _TAGS * coalescing + _SEGREGATED * segregated
    return Policy(name, description, f"{_PAPER}, sections 3 and 5", reading)


def _tree(fit: TreeFit, *, coalescing: bool = False, segregated: bool = False) -> Policy:
    short = "better" if fit is TreeFit.BETTER else f"{fit.value[0]}f"
    name = f"{'sbt' if segregated else 'abt'}-{short}{'wc' if coalescing else ''}"
    description = AddressTrees(
        fit,
        trees=_CLASSES if segregated else 1,
        coalescing=Coalescing.ONE if coalescing else Coalescing.NONE,
    )
    reading = _TREE_READING + _ONE * coalescing + _EIGHT * segregated
    reading += _BETTER * (fit is TreeFit.BETTER)
    return Policy(name, description, f"{_PAPER}, section 4.{1 + segregated}", reading)


POLICIES: Final = (
    *(_list(fit) for fit in ListFit),
    *(_list(fit, coalescing=True) for fit in ListFit),
    *(_tree(fit) for fit in TreeFit),
    *(_tree(fit, coalescing=True) for fit in TreeFit),
    *(_list(fit, segregated=True) for fit in ListFit),
    *(_tree(fit, segregated=True) for fit in TreeFit),
)
