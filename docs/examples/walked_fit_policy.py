"""Describes the family of walked_fit.c, which must be compiled to the module `walked_fit`."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import walked_fit

from simalloc.policy import HeapFamily, Policy
from simalloc.policy.parts import Unit


@dataclass(frozen=True)
class WalkedFit(HeapFamily):
    """First fit in address order, by a walk over all blocks."""

    family: ClassVar[str] = "walked fit"
    compiled: ClassVar[object] = walked_fit.family

    growth: Annotated[Unit, "The heap grows by multiples of this."] = 4096


POLICY = Policy("walked-fit", WalkedFit())
