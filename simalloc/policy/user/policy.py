"""User-defined policies as `Policy` objects, with a description and a text as in the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from simalloc.errors import PolicyError
from simalloc.plural import kind_of
from simalloc.policy.description import Policy, read_parameters, spell_parameters
from simalloc.policy.parts import Value, read_value
from simalloc.policy.user.base import UserPolicy, defaults_of, values_of
from simalloc.policy.user.code import DIGITS, Code, UserCode, code_in_file, code_of_class

_TEXT: Final = re.compile(
    rf"(?P<file>[^:]+\.py)(?:@(?P<digest>[0-9a-f]{{{DIGITS}}}))?:(?P<name>[^:@]*)"
    r"(?::(?P<parameters>.*))?"
)


@dataclass(frozen=True, repr=False)
class PolicyFromCode(Policy):
    """A policy in Python. Its name is `FILE.py:CLASS`, or the class's name if it has no file."""

    description: UserCode

    @property
    def parameters(self) -> dict[str, Value]:
        """Every parameter by name, as a plain value; the capacity only if it is set."""
        capacity = self.description.capacity
        return {**dict(self.description.values), **({"capacity": capacity} if capacity else {})}

    @property
    def all_parameters(self) -> dict[str, Value]:
        """The parameters that the class declares, and the capacity if it is set."""
        return self.parameters

    def with_parameters(self, **parameters: Value) -> PolicyFromCode:
        """Return the same policy with some parameters changed; raises as `Policy` does."""
        described = _described(self.description.code, {**self.parameters, **parameters})
        return replace(self, description=described)

    def spelled(self, catalogued: Policy | None) -> str:  # noqa: ARG002 - it is in no catalogue
        """Return the text that makes this policy as long as its file is unchanged."""
        return self._spelled(self.name)

    @property
    def exact(self) -> str:
        """Text that makes this policy.

        The text contains a digest of the code, so it is refused after a change of the code.
        """
        file, _, name = self.name.rpartition(":")
        digest = self.description.code.digest
        return self._spelled(f"{file}@{digest}:{name}" if file else f"{name}@{digest}")

    def _spelled(self, name: str) -> str:
        defaults = values_of(self.description.code.make({}))
        return spell_parameters(name, self.parameters, defaults)


def is_user_policy(text: str) -> bool:
    """Return whether a text names a policy in a file: `FILE.py:CLASS`, maybe with parameters."""
    return _TEXT.fullmatch(text.strip()) is not None


def user_policy(
    text: str, parameters: Mapping[str, Value] | None = None, folder: Path | None = None
) -> PolicyFromCode:
    """Return the policy that a text such as `mine.py:WorstFit:growth=64K` names.

    `parameters` override parameters of the text, or are added to them. The file is searched from
    `folder` and executed. Raises `PolicyError` if the file cannot be loaded, has no such class, or
    does not match a digest in the text, as in `mine.py@3f2a91c4d5e6:WorstFit`.
    """
    match = _TEXT.fullmatch(text.strip())
    assert match is not None, "the caller has checked is_user_policy()"
    code = code_in_file(match["file"], match["name"].strip(), folder or Path())
    if match["digest"] not in (None, code.digest):
        raise PolicyError(
            f"{match['file']} has changed: its digest is {code.digest}, but the name requests "
            f"{match['digest']}"
        )
    given = read_parameters(text, match["parameters"] or "")
    return _policy(code, {**given, **(parameters or {})})


def policy_of(given: UserPolicy | type[UserPolicy], **parameters: Value) -> PolicyFromCode:
    """Return the policy that a class or its instance describes.

    Raises `PolicyError` for any other object.
    """
    if not isinstance(given, (type, UserPolicy)):
        raise PolicyError(
            f"{kind_of(given)} is not a policy. Give a policy, its name or its class, such "
            "as `run.policy` for a run or Policy(NAME, DESCRIPTION) for a description"
        )
    code = code_of_class(given if isinstance(given, type) else type(given))
    values = {} if isinstance(given, type) else values_of(given)
    return _policy(code, {**values, **parameters})


def _policy(code: Code, given: Mapping[str, Value]) -> PolicyFromCode:
    name = code.name if code.file is None else f"{code.file}:{code.name}"
    first, *_ = (code.policy.__doc__ or "").strip().splitlines() or [""]
    return PolicyFromCode(name, _described(code, given), source=first)


def _described(code: Code, given: Mapping[str, Value]) -> UserCode:
    """Return the description of a class with some parameters.

    `capacity` is the heap's, unless the class declares a parameter of that name.
    """
    values = dict(given)
    capacity = 0
    if "capacity" not in defaults_of(code.policy):
        capacity = read_value("capacity", values.pop("capacity", 0), int)
    return UserCode(code, tuple(values_of(code.make(values)).items()), capacity=capacity)


def base_name(text: str) -> str:
    """Return a policy's name without parameters and digest, from the text of any policy."""
    match = _TEXT.fullmatch(text)
    if match is not None:
        return f"{match['file']}:{match['name']}"
    return text.partition(":")[0].partition("@")[0]
