"""Which malloc, and which setting: the same trace under what people install and what they set."""

from simalloc.measure.settings.advice import Advice, advise, counted, in_use, megabytes
from simalloc.measure.settings.candidates import Candidate, candidates, own_candidate
from simalloc.measure.settings.outcomes import Setting, settings_of
from simalloc.measure.settings.recorded import Recorded, recorded

__all__ = [
    "Advice",
    "Candidate",
    "Recorded",
    "Setting",
    "advise",
    "candidates",
    "counted",
    "in_use",
    "megabytes",
    "own_candidate",
    "recorded",
    "settings_of",
]
