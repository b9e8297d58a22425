"""Packages that can be called by their own name, as `simalloc.policy("best-fit-ao")` is.

To Python, `simalloc.policy` is a package, and it becomes so again whenever somebody imports it
first; a function of that name bound in `simalloc` would come and go with the order of imports. So
the package stays what it is, and calling it calls the function in it that has its name.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package that holds a function of its own name, and passes calls on to it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; help and completion show its own signature and text."""
        return self._function(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # a property where there is a str
        return inspect.getdoc(self._function)

    @property
    def _function(self) -> Any:
        return vars(self)[self.__name__.rpartition(".")[2]]


def make_callable(package: str) -> None:
    """Make a package callable; it says so at the end of its `__init__`."""
    sys.modules[package].__class__ = CallablePackage
