"""The rows that `simalloc place` writes, for comparison with measurements of a real allocator."""

import csv
import io

from simalloc.report.placements import write_placements


def placed(setting, *, own=True):
    """Return one row per event; with `own`, the allocator's figures replace ours of that name."""
    text = io.StringIO()
    write_placements(setting, text)
    prefix = f"{setting.policy.name}." if own else ""
    return [
        {name.removeprefix(prefix): value for name, value in row.items()}
        for row in csv.DictReader(text.getvalue().splitlines())
    ]
