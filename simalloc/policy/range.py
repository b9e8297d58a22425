"""A parameter with several values; each value makes a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from simalloc.errors import PlanError
from simalloc.policy.description import Policy


@dataclass(frozen=True)
class Range:
    """The values of one parameter, as they were written."""

    parameter: str
    values: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse `growth=1,16,4K`. Raises `PlanError` for a text of another form."""
        parameter, equals, values = text.partition("=")
        listed = tuple(value.strip() for value in values.split(","))
        if not parameter.strip() or not equals or not all(listed):
            raise PlanError(f"{text!r} is not of the form PARAMETER=VALUE,VALUE", key=("range",))
        return cls(parameter.strip(), listed)

    def __str__(self) -> str:
        return f"{self.parameter}={','.join(self.values)}"

    def over(self, policies: Sequence[Policy]) -> list[list[Policy]]:
        """Return each policy with each value; a policy without the parameter stays as it is.

        Raises `PlanError` if no policy has the parameter, and `PolicyError` for a value that a
        policy does not accept.
        """
        found = [self._of(policy) for policy in policies]
        if not any(found):
            raise PlanError(f"no policy has a parameter {self.parameter!r}", key=("range",))
        return [spread or [policy] for spread, policy in zip(found, policies, strict=True)]

    def _of(self, policy: Policy) -> list[Policy]:
        if self.parameter not in policy.all_parameters:
            return []
        return [policy.with_parameters(**{self.parameter: value}) for value in self.values]
