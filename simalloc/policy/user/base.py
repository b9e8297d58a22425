"""The base class of user-defined policies."""

from __future__ import annotations

from enum import Enum
from typing import Any

from simalloc.errors import PolicyError
from simalloc.policy.parts import Value, read_value
from simalloc.policy.user.contract import Block, Heap


class UserPolicy:
    """Base class of policies in Python: a derived class has the methods `malloc` and `free`.

    Class attributes in lower case are parameters: with `growth = 4096` in the class,
    `WorstFit(growth="64K")` is the policy with another value. An instance describes a policy, like
    the text `first-fit-ao`. Every simulation creates its own instance and calls its `begin`, so
    that state is never shared. The first line of the class's docstring is shown in lists of
    policies. docs/python-policies.md has more examples.

    Parameters
    ----------
    **parameters : int, bool, str or enum member
        Values of parameters by name; a size is a number of bytes or text such as "64K". The
        defaults are the class attributes.

    Raises
    ------
    PolicyError
        If a parameter is unknown or its value is invalid.

    Examples
    --------
    >>> class WorstFit(simalloc.UserPolicy):
    ...     growth = 4096
    ...     def malloc(self, heap, size):
    ...         return heap.split(heap.worst_fit(size) or heap.grow(size, self.growth), size)
    ...     def free(self, heap, block):
    ...         heap.insert(heap.merge(block))
    >>> simalloc.simulate("espresso", WorstFit)
    """

    def __init__(self, **parameters: Value) -> None:
        defaults = defaults_of(type(self))
        for name in parameters:
            if name not in defaults:
                has = f"it has {', '.join(defaults)}" if defaults else "it has none"
                raise PolicyError(f"{type(self).__name__} has no parameter {name!r}; {has}")
        for name, default in defaults.items():
            given = name in parameters
            setattr(self, name, _read(name, parameters[name], default) if given else default)

    def begin(self, trace: Any) -> None:
        """Prepare for a simulation, for example by creating the policy's own data.

        `trace.in_memory()` is the `Trace` whose events will follow, for policies that use lifetimes
        or sites. `heap.event` is the index of the current event in its columns.
        """

    def malloc(self, heap: Heap, size: int) -> Block | None:
        """Return an unsearchable block of at least `size` scaled bytes; None refuses the request.

        If `malloc` declares `thread`, `time` (nanoseconds) or `site` after a `*`, it receives
        these values of the request: `def malloc(self, heap, size, *, thread, site)`. Values that
        the trace lacks are 0.
        """
        raise NotImplementedError

    def free(self, heap: Heap, block: Block) -> None:
        """Free an unsearchable block. Most policies merge it and insert it into their lists."""
        raise NotImplementedError

    def resize(self, heap: Heap, block: Block, size: int) -> bool:  # noqa: ARG002 - for subclasses
        """Resize a block in place and return True, or leave it unchanged and return False.

        The method is called only with the realloc rule `in-place`. The block is unsearchable during
        the call, and joining memory to it does not count as coalescing. Unless this method is
        overridden, such a realloc moves the object.
        """
        return False

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in values_of(self).items())
        return f"{type(self).__name__}({values})"


PythonPolicy = UserPolicy
"""Former name of the class."""


def defaults_of(code: type[UserPolicy]) -> dict[str, Any]:
    """Return the parameters of a class with their values, in the order of their definition."""
    found: dict[str, Any] = {}
    for one in reversed(code.__mro__):
        if issubclass(one, UserPolicy) and one is not UserPolicy:
            found |= {
                name: getattr(code, name)
                for name, value in vars(one).items()
                if name == name.lower()
                and not name.startswith("_")
                and isinstance(value, (int, float, str, Enum))
            }
    return found


def values_of(policy: UserPolicy) -> dict[str, Value]:
    """Return the parameters of a policy as plain values."""
    values = {name: getattr(policy, name) for name in defaults_of(type(policy))}
    return {
        name: value.value if isinstance(value, Enum) else value for name, value in values.items()
    }


def _read(name: str, value: Value, default: Any) -> Any:
    """Return a parameter's value in the type of its default; a number may be negative."""
    if type(default) is int and str(value).startswith("-"):
        return -read_value(name, str(value)[1:], int)
    return read_value(name, value, type(default))
