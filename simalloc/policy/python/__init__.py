"""Policies of one's own in Python: what they are written against, and how they are found."""

from simalloc.policy.python.base import PythonPolicy
from simalloc.policy.python.code import PythonCode
from simalloc.policy.python.contract import Block, Heap, OrderName
from simalloc.policy.python.policy import (
    OwnPolicy,
    base_name,
    is_own,
    own_policy,
    policy_of,
)

__all__ = [
    "Block",
    "Heap",
    "OrderName",
    "OwnPolicy",
    "PythonCode",
    "PythonPolicy",
    "base_name",
    "is_own",
    "own_policy",
    "policy_of",
]
