"""Policies of one's own in Python: what they are written against, and how they are found."""

from simalloc.policy.python.base import PythonPolicy
from simalloc.policy.python.code import PythonCode
from simalloc.policy.python.contract import Block, Heap, OrderName
from simalloc.policy.python.policy import (
    UserPolicy,
    base_name,
    is_user_policy,
    policy_of,
    user_policy,
)

__all__ = [
    "Block",
    "Heap",
    "OrderName",
    "PythonCode",
    "PythonPolicy",
    "UserPolicy",
    "base_name",
    "is_user_policy",
    "policy_of",
    "user_policy",
]
