"""Which code: what each call site has live, and what of the free memory its objects pin."""

from simalloc.measure.sites.apart import Apart, Parting
from simalloc.measure.sites.best import Proposal, best_apart, events_of_best_apart
from simalloc.measure.sites.frames import WRAPPERS, Frame, call_path, folded
from simalloc.measure.sites.holding import At, held_under
from simalloc.measure.sites.pinned import Held, held_by
from simalloc.measure.sites.profile import ASKED, HELD, By, Profile, Row, profile_of, rows_of
from simalloc.measure.sites.tree import Tree, Way, tree_of
from simalloc.measure.sites.usage import Usage, usage_of

__all__ = [
    "ASKED",
    "HELD",
    "WRAPPERS",
    "Apart",
    "At",
    "By",
    "Frame",
    "Held",
    "Parting",
    "Profile",
    "Proposal",
    "Row",
    "Tree",
    "Usage",
    "Way",
    "best_apart",
    "call_path",
    "events_of_best_apart",
    "folded",
    "held_by",
    "held_under",
    "profile_of",
    "rows_of",
    "tree_of",
    "usage_of",
]
