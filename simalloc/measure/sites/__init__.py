"""Which code: what each call site has live, and what of the free memory its objects pin."""

from simalloc.measure.sites.apart import Apart, apart
from simalloc.measure.sites.best import Proposal, best_apart, events_of_best_apart
from simalloc.measure.sites.frames import WRAPPERS, Frame, frames_of, guilty_frame
from simalloc.measure.sites.holding import At, held_under
from simalloc.measure.sites.pinned import Held, held_by
from simalloc.measure.sites.usage import Usage, usage_of

__all__ = [
    "WRAPPERS",
    "Apart",
    "At",
    "Frame",
    "Held",
    "Proposal",
    "Usage",
    "apart",
    "best_apart",
    "events_of_best_apart",
    "frames_of",
    "guilty_frame",
    "held_by",
    "held_under",
    "usage_of",
]
