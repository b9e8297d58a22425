"""What is possible at all, for one who knows the whole trace."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.offline import Offline

GROUP: Final = ""
"""None: it competes with no one, and is met by its name or in `all`."""

POLICIES: Final = (
    Policy(
        "best-possible",
        Offline(),
        source="ours; dynamic storage allocation with known lifetimes, Buchsbaum et al. 2003",
        reading=(
            "The lowest heap that a list of tries finds for the whole trace at once; often it is "
            "the peak of live bytes, below which there is none. A realloc frees first, whatever "
            "the rule is."
        ),
    ),
)
