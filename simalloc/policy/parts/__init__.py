"""The orthogonal parts of policies, and their spelling in text."""

from simalloc.policy.parts.choices import Coalescing, CoalescingTime, Fit, Order, Series, Spacing
from simalloc.policy.parts.overhead import Aligning, Overhead
from simalloc.policy.parts.ranges import (
    MAX_UNIT,
    Amount,
    Count,
    CountOrAuto,
    Duration,
    Extra,
    Granule,
    Number,
    Positive,
    PowerOfTwo,
    Range,
    RangeOrAuto,
    Unit,
    check_unit,
)
from simalloc.policy.parts.splitting import Splitting
from simalloc.policy.parts.values import (
    Auto,
    Value,
    plain_value,
    read_value,
    spell_value,
)

__all__ = [
    "MAX_UNIT",
    "Aligning",
    "Amount",
    "Auto",
    "Coalescing",
    "CoalescingTime",
    "Count",
    "CountOrAuto",
    "Duration",
    "Extra",
    "Fit",
    "Granule",
    "Number",
    "Order",
    "Overhead",
    "Positive",
    "PowerOfTwo",
    "Range",
    "RangeOrAuto",
    "Series",
    "Spacing",
    "Splitting",
    "Unit",
    "Value",
    "check_unit",
    "plain_value",
    "read_value",
    "spell_value",
]
