"""Tables as pandas has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.errors import SimallocError
from simalloc.report.table import Table

if TYPE_CHECKING:
    import pandas as pd


def frame(table: Table) -> pd.DataFrame:
    """Return a table as a data frame; raises `SimallocError` if pandas is not installed."""
    try:
        import pandas as pd  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise SimallocError("data frames need pandas: pip install 'simalloc[frame]'") from error
    return pd.DataFrame([list(row) for row in table.rows], columns=list(table.columns))
