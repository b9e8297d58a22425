"""Policies, which decide where blocks are placed: their descriptions and their catalogue."""

from simalloc.policy.catalogue import (
    CATALOGUE,
    GROUP_TITLES,
    GROUPS,
    HEAP_POLICIES,
    AnyPolicy,
    find_policy,
    modules_of,
    spell,
    spell_exactly,
)
from simalloc.policy.choice import ALL, Grid, expand_policies, is_policy_name, split_names
from simalloc.policy.description import Policy
from simalloc.policy.families import FAMILIES, Family, HeapFamily
from simalloc.policy.mechanism import with_and_without_mechanism
from simalloc.policy.parameters import parameters_of, rules_of
from simalloc.policy.parts import (
    Fit,
    Order,
    Overhead,
    Series,
    spell_value,
)
from simalloc.policy.user import (
    Block,
    Heap,
    PolicyFromCode,
    PythonPolicy,
    UserCode,
    UserPolicy,
    base_name,
    is_user_policy,
)

__all__ = [
    "ALL",
    "CATALOGUE",
    "FAMILIES",
    "GROUPS",
    "GROUP_TITLES",
    "HEAP_POLICIES",
    "AnyPolicy",
    "Block",
    "Family",
    "Fit",
    "Grid",
    "Heap",
    "HeapFamily",
    "Order",
    "Overhead",
    "Policy",
    "PolicyFromCode",
    "PythonPolicy",
    "Series",
    "UserCode",
    "UserPolicy",
    "base_name",
    "expand_policies",
    "find_policy",
    "is_policy_name",
    "is_user_policy",
    "modules_of",
    "parameters_of",
    "rules_of",
    "spell",
    "spell_exactly",
    "spell_value",
    "split_names",
    "with_and_without_mechanism",
]
