"""The same examples on every machine, as many as the whole run has time for.

SIMALLOC_EXAMPLES asks for another number of them.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "simalloc",
    derandomize=True,
    deadline=None,
    max_examples=int(os.environ.get("SIMALLOC_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("simalloc")
