"""Which malloc, and which setting: the same trace under what people install and what they set."""

from simalloc.measure.settings.advice import (
    Advice,
    advise,
    counted,
    events_of_advice,
    in_use,
    is_worth,
)
from simalloc.measure.settings.arenas import HeldArenas, held_arenas
from simalloc.measure.settings.candidates import (
    Candidate,
    candidates,
    first_candidates,
    own_candidate,
)
from simalloc.measure.settings.outcomes import IN_MEMORY, Setting, policy_in_use, settings_of
from simalloc.measure.settings.python import python_of
from simalloc.measure.settings.recorded import Recorded, recorded
from simalloc.measure.settings.releases import installed_release

__all__ = [
    "IN_MEMORY",
    "Advice",
    "Candidate",
    "HeldArenas",
    "Recorded",
    "Setting",
    "advise",
    "candidates",
    "counted",
    "events_of_advice",
    "first_candidates",
    "held_arenas",
    "in_use",
    "installed_release",
    "is_worth",
    "own_candidate",
    "policy_in_use",
    "python_of",
    "recorded",
    "settings_of",
]
