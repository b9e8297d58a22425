"""Memory by call site: live bytes, and free bytes that a site's objects pin."""

from simalloc.measure.sites.apart import Apart, Parting
from simalloc.measure.sites.best import Proposal, best_apart, events_of_best_apart
from simalloc.measure.sites.frames import Frame, call_path, folded
from simalloc.measure.sites.holding import At, held_under
from simalloc.measure.sites.pinned import held_by
from simalloc.measure.sites.profile import ASKED, HELD, By, Profile, Row, profile_of, rows_of
from simalloc.measure.sites.tree import Tree, Way, tree_of, trees_of
from simalloc.measure.sites.usage import usage_of

__all__ = [
    "ASKED",
    "HELD",
    "Apart",
    "At",
    "By",
    "Frame",
    "Parting",
    "Profile",
    "Proposal",
    "Row",
    "Tree",
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
    "trees_of",
    "usage_of",
]
