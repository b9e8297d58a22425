"""A block as a policy in Python sees it (simalloc/policy/user/contract.py), in plain Python."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from simalloc.errors import PolicyError

if TYPE_CHECKING:
    from simalloc.heap.reference.user_policies.heap import UserHeap


class Place(Enum):
    """Present place of a block."""

    HELD = "held"
    UNSEARCHABLE = "unsearchable"
    LISTED = "listed"
    NOWHERE = "joined to another block"


class UserBlock:
    """A block of the heap. The heap keeps `address` and `place` up to date."""

    def __init__(self, heap: UserHeap, address: int) -> None:
        self._heap = heap
        self._address = address
        self.place = Place.UNSEARCHABLE

    def __repr__(self) -> str:
        if self.place is Place.NOWHERE:
            return "<Block that no longer exists>"
        return f"<Block [{self.address}, {self.address + self.size}) {self.place.value}>"

    @property
    def address(self) -> int:
        """Start address."""
        self._demand_existence()
        return self._address

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self._heap.blocks.size[self.address]

    @property
    def previous(self) -> UserBlock | None:
        """The block just below in memory, or None."""
        return self._heap.at(self._heap.blocks.before(self.address))

    @property
    def next(self) -> UserBlock | None:
        """The block just above in memory, or None."""
        return self._heap.at(self._heap.blocks.after(self.address))

    @property
    def is_free(self) -> bool:
        """True if the block does not hold an object of the program."""
        self._demand_existence()
        return self.place is not Place.HELD

    @property
    def is_listed(self) -> bool:
        """True if the block is on the lists."""
        self._demand_existence()
        return self.place is Place.LISTED

    def move_to(self, address: int) -> None:
        """Update the address after the block's low end has changed."""
        self._address = address

    def _demand_existence(self) -> None:
        if self.place is Place.NOWHERE:
            raise PolicyError("the Block no longer exists: it was joined to another")
