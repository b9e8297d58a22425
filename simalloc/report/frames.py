"""Tables as pandas has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.extras import pandas
from simalloc.report.table import Table

if TYPE_CHECKING:
    import pandas as pd


def frame(table: Table) -> pd.DataFrame:
    """Return a table as a data frame; raises `SimallocError` if pandas is not installed."""
    return pandas().DataFrame([list(row) for row in table.rows], columns=list(table.columns))
