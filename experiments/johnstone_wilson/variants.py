"""The two interpretations of the paper's growth units, as tables of policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from experiments.johnstone_wilson.growth_unit import ROWS_4K, ROWS_8K, ROWS_OTHER


@dataclass(frozen=True)
class Variant:
    """Policies for the rows of tables 3 and 4: a policy text for each of the paper's policy names.

    `unit` is the growth unit of the 4K rows, in scaled bytes.
    """

    key: str
    unit: str
    title: str
    policies: Mapping[str, str]


AS_DESCRIBED: Final = Variant(
    "as-described",
    "4 KiB",
    "growth as described: 4 KiB of scaled bytes, 8 KiB in the 8K rows, 6 KiB for sizes 3*2^N",
    {policy: policy for policy in (*ROWS_4K, *ROWS_8K, *ROWS_OTHER)},
)
"""Growth units of the catalogue, which the paper's text states."""

AS_PRINTED: Final = Variant(
    "as-printed",
    "64 KiB",
    "growth as printed: 64 KiB of scaled bytes, 8 KiB in the 8K rows, "
    "4 KiB for buddies and segregated storage",
    {
        **AS_DESCRIBED.policies,
        **{policy: f"{policy}:growth=64K" for policy in ROWS_4K},
        "simple-seg-2n-3x2n": "simple-seg-2n-3x2n:growth_3x=4K",
    },
)
"""Growth units that fit the printed figures (see `growth_unit`): only the 4K rows fit 64 KiB.
Double buddy keeps its 4 and 6 KiB in both variants."""

VARIANTS: Final = (AS_PRINTED, AS_DESCRIBED)
