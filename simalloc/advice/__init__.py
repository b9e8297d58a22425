"""Which malloc, and which setting: the same trace under what people install and what they set."""

from simalloc.advice.advice import (
    Advice,
    advise,
    counted,
    events_of_advice,
    in_use,
    is_worth,
)
from simalloc.advice.candidates import (
    Candidate,
    candidates,
    first_candidates,
    user_candidate,
)
from simalloc.advice.held_arenas import HeldArenas, held_arenas
from simalloc.advice.outcomes import IN_MEMORY, Setting, policy_in_use, settings_of
from simalloc.advice.python_release import python_of
from simalloc.advice.recorded import Recorded, recorded
from simalloc.advice.releases import installed_release

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
    "policy_in_use",
    "python_of",
    "recorded",
    "settings_of",
    "user_candidate",
]
