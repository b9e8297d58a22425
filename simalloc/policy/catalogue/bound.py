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
        source="our own searches; Buchsbaum et al. 2003 analyse the problem",
        reading=(
            "The smallest heap that several searches find, each with knowledge of the whole "
            "trace. It often equals the peak live bytes, the lower bound for every heap. A realloc "
            "frees the old block before it allocates, whatever the realloc rule is."
        ),
    ),
)
