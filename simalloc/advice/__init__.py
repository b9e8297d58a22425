"""Advice on the memory of one trace under popular mallocs and their settings."""

from simalloc.advice.advice import SHORT, Advice, advise, events_of_advice
from simalloc.advice.candidates import (
    Candidate,
    candidates,
    first_candidates,
    user_candidate,
)
from simalloc.advice.choice import is_worth
from simalloc.advice.held_arenas import HeldArenas, held_arenas
from simalloc.advice.machine import Machine, machine_of
from simalloc.advice.moments import Moment
from simalloc.advice.outcomes import (
    IN_MEMORY,
    Setting,
    events_of_settings,
    in_use,
    policy_in_use,
    settings_of,
)
from simalloc.advice.python_release import python_of
from simalloc.advice.recorded import Recorded, recorded
from simalloc.advice.releases import installed_release

__all__ = [
    "IN_MEMORY",
    "SHORT",
    "Advice",
    "Candidate",
    "HeldArenas",
    "Machine",
    "Moment",
    "Recorded",
    "Setting",
    "advise",
    "candidates",
    "events_of_advice",
    "events_of_settings",
    "first_candidates",
    "held_arenas",
    "in_use",
    "installed_release",
    "is_worth",
    "machine_of",
    "policy_in_use",
    "python_of",
    "recorded",
    "settings_of",
    "user_candidate",
]
