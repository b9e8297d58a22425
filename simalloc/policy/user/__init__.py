"""User-defined policies in Python: their interface and their loading."""

from simalloc.policy.user.base import PythonPolicy, UserPolicy
from simalloc.policy.user.code import UserCode
from simalloc.policy.user.contract import Block, Heap, OrderName
from simalloc.policy.user.policy import (
    PolicyFromCode,
    base_name,
    is_user_policy,
    policy_of,
    user_policy,
)

__all__ = [
    "Block",
    "Heap",
    "OrderName",
    "PolicyFromCode",
    "PythonPolicy",
    "UserCode",
    "UserPolicy",
    "base_name",
    "is_user_policy",
    "policy_of",
    "user_policy",
]
