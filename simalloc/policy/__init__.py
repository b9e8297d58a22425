"""Who decides where a block goes: descriptions of policies, and the catalogue of them."""

from simalloc.callable_package import make_callable
from simalloc.policy.catalogue import CATALOGUE, policy, spell
from simalloc.policy.description import Policy
from simalloc.policy.families import (
    BinaryBuddy,
    BinnedFit,
    DoubleBuddy,
    Family,
    SegregatedStorage,
    SequentialFit,
)
from simalloc.policy.parts import (
    Fit,
    LastRemainder,
    Order,
    Series,
    format_size,
    parse_size,
)

__all__ = [
    "CATALOGUE",
    "BinaryBuddy",
    "BinnedFit",
    "DoubleBuddy",
    "Family",
    "Fit",
    "LastRemainder",
    "Order",
    "Policy",
    "SegregatedStorage",
    "SequentialFit",
    "Series",
    "format_size",
    "parse_size",
    "policy",
    "spell",
]

make_callable(__name__)
