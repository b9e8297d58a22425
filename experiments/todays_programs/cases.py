"""Programs on which best fit or first fit by address wastes much, and evidence of the cause.

Each case answers its own question: the waste that remains without the suspected cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from experiments.johnstone_wilson.alterations import Alteration, Without
from experiments.johnstone_wilson.replays import Job
from simalloc.heap import Realloc

PAIR: Final = ("best-fit-ao", "first-fit-ao")
"""The paper's two best policies, which the cases compare."""


@dataclass(frozen=True)
class Change:
    """One change in a program's replay."""

    name: str
    alteration: Alteration | None = None
    realloc: Realloc = Realloc.FREE_FIRST

    def job(self, program: str, policy: str) -> Job:
        """Return the simulation of a program and a policy with the change."""
        return Job(program, policy, self.realloc, self.alteration)


@dataclass(frozen=True)
class Case:
    """A program, and the changes that reveal the cause of its waste.

    The page calls free blocks of `hole` bytes or more holes.
    """

    program: str
    hole: int
    changes: tuple[Change, ...]

    @property
    def picture(self) -> str:
        """Name of the file with the case's heap maps."""
        return f"todays-programs-{self.program}.png"


AS_IT_IS: Final = Change("as recorded")
IN_PLACE: Final = Change("realloc grows in place if it can", realloc=Realloc.IN_PLACE)


def _without(size: int, text: str) -> Change:
    return Change(f"without objects above {text}", Without(size))


CASES: Final = (
    Case("perl5", 64 << 10, (AS_IT_IS, IN_PLACE, _without(1 << 20, "1 MiB"))),
    Case("ginsh", 16 << 10, (AS_IT_IS, _without(16 << 10, "16 KiB"))),
    Case("cc1", 64 << 10, (AS_IT_IS, IN_PLACE, _without(1 << 20, "1 MiB"))),
    Case("varnish", 4 << 10, (AS_IT_IS, _without(16 << 10, "16 KiB"), _without(4 << 10, "4 KiB"))),
    Case(
        "redis",
        4 << 10,
        (AS_IT_IS, IN_PLACE, _without(16 << 10, "16 KiB"), _without(4 << 10, "4 KiB")),
    ),
    Case("f2c", 64, (AS_IT_IS, _without(1 << 10, "1 KiB"))),
)

JOBS: Final = tuple(
    change.job(case.program, policy) for case in CASES for change in case.changes for policy in PAIR
)
