"""The best possible placement, which needs the whole trace."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.offline import Offline

GROUP: Final = ""
"""No group: the policy is found by its name or in `all`."""

POLICIES: Final = (
    Policy(
        "best-possible",
        Offline(),
        source="our own; dynamic storage allocation with known lifetimes, Buchsbaum et al. 2003",
        reading=(
            "The smallest heap that several searches find, each with knowledge of the whole "
            "trace. Often it equals the peak live bytes, and no heap can be smaller. A realloc "
            "frees first under every rule."
        ),
    ),
)
