"""Who decides where a block goes: descriptions of policies, and the catalogue of them."""

from simalloc.callable_package import make_callable
from simalloc.policy.catalogue import CATALOGUE, AnyPolicy, policy, spell, spell_exactly
from simalloc.policy.choice import ALL, Grid, expand_policies, is_policy_name
from simalloc.policy.description import Policy
from simalloc.policy.families import (
    BinaryBuddy,
    BinnedFit,
    DoubleBuddy,
    Family,
    SegregatedStorage,
    SequentialFit,
)
from simalloc.policy.own import (
    Block,
    Heap,
    OwnPolicy,
    PythonCode,
    PythonPolicy,
    base_name,
    is_own,
    own_policy,
)
from simalloc.policy.parts import (
    Fit,
    LastRemainder,
    Order,
    Series,
    format_size,
    parse_size,
    spell_value,
)

__all__ = [
    "ALL",
    "CATALOGUE",
    "AnyPolicy",
    "BinaryBuddy",
    "BinnedFit",
    "Block",
    "DoubleBuddy",
    "Family",
    "Fit",
    "Grid",
    "Heap",
    "LastRemainder",
    "Order",
    "OwnPolicy",
    "Policy",
    "PythonCode",
    "PythonPolicy",
    "SegregatedStorage",
    "SequentialFit",
    "Series",
    "base_name",
    "expand_policies",
    "format_size",
    "is_own",
    "is_policy_name",
    "own_policy",
    "parse_size",
    "policy",
    "spell",
    "spell_exactly",
    "spell_value",
]

make_callable(__name__)
