"""Call sites as tables, and as records for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simalloc.report.table import Table, Value
from simalloc.report.units import percent
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from simalloc.measure.sites import Apart, Frame, Proposal, Row, Tree

_WORDS: Final = {
    "pinned_bytes": "pinned",
    "shared_bytes": "shared",
    "wasted_bytes": "wasted",
    "rounding_bytes": "rounding",
    "live_bytes": "live at peak",
    "final_bytes": "at the end",
    "allocated_bytes": "allocated",
    "allocations": "allocations",
    "never_freed": "never freed",
    "temporary": "temporary",
}
"""Headings of columns."""

_HELD_COLUMNS: Final = ("pinned_bytes", "shared_bytes", "rounding_bytes", "live_bytes",
                        "final_bytes")  # fmt: skip
_ASKED_COLUMNS: Final = ("live_bytes", "final_bytes", "allocated_bytes", "allocations",
                         "never_freed", "temporary")  # fmt: skip


def site_records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a record for each row."""
    return [
        {
            **_place(row.frame),
            "stack": [spell_frame(frame) for frame in row.stack],
            "sites": list(row.sites),
            **{name: row.values[name] for name in _WORDS if name in row.values},
            "lifetime_events": row.lifetime,
        }
        for row in rows
    ]


def sites_table(
    title: str, rows: Sequence[Row], measure: str, max_rows: int, event: int | None = None
) -> Table:
    """Return a table of the first rows, followed by the sum of all rows.

    `event` is the event after which the heap was examined.
    """
    shown = _columns(measure, rows[0].values if rows else {})
    totals = {name: sum(row.values[name] for row in rows) for name in shown}
    has_lifetimes = "pinned_bytes" not in shown
    lines: list[tuple[Value, ...]] = [
        (
            spell_frame(row.frame),
            percent(row.values[measure] / totals[measure]) if totals[measure] else None,
            *(round(row.values[name]) for name in shown),
            *([row.lifetime] if has_lifetimes else []),
        )
        for row in rows[:max_rows]
    ]
    end = (None,) if has_lifetimes else ()
    lines.append((f"all {len(rows):,}", None, *(round(totals[name]) for name in shown), *end))
    left = len(rows) - len(lines) + 1
    notes = [f"{left:,} more rows are hidden. Use --rows to show them."] if left else []
    if event is not None:
        notes += [
            f"The table shows the heap after event {event:,}.",
            "simalloc sites --help explains pinned and shared bytes.",
        ]
    columns = [
        "function",
        "%",
        *(_WORDS[name] for name in shown),
        *(["lifetime"] if has_lifetimes else []),
    ]
    return Table(title, columns, lines, notes)


def site_records_table(records: Sequence[Mapping[str, Any]]) -> Table:
    """Return records as a table, for CSV."""
    columns = list(records[0]) if records else ["function"]
    rows = [[_cell(record[name]) for name in columns] for record in records]
    return Table("Sites", columns, rows)


def tree_records(tree: Tree, measure: str) -> list[dict[str, Any]]:
    """Return a record for each root, with its children. The largest siblings come first."""
    names = [name for name in _WORDS if name in tree.totals]
    records: list[dict[str, Any]] = [
        {**_place(frame), **{name: tree.totals[name][node].item() for name in names}}
        | {"children": []}
        for node, frame in enumerate(tree.frames)
    ]
    for record, parent in zip(records[1:], tree.parents[1:].tolist(), strict=True):
        records[parent]["children"].append(record)
    for record in records:
        record["children"].sort(key=lambda child: -child[measure])
    found: list[dict[str, Any]] = records[0]["children"]
    return found


def tree_records_table(tree: Tree, measure: str) -> Table:
    """Return a table of all nodes for CSV. Each node follows its parent and has its depth."""
    names = [name for name in _WORDS if name in tree.totals]
    rows = [
        [depth, *_place(tree.frames[node]).values()]
        + [tree.totals[name][node].item() for name in names]
        for depth, node in _walk(tree, measure, 0)
        if node
    ]
    return Table("Sites", ["depth", "function", "file", "line", *names], rows)


def tree_table(title: str, tree: Tree, measure: str, min_percent: float) -> Table:
    """Return a table of the nodes with at least a share of a measure, each below its parent.

    `min_percent` is this share in percent of the total. Deeper nodes are indented further.
    """
    shown = _columns(measure, tree.totals)
    total = float(tree.totals[measure][0])
    enough = total * min_percent / 100
    lines: list[tuple[Value, ...]] = [
        (
            "  " * depth + (spell_frame(tree.frames[node]) if node else "all"),
            percent(tree.totals[measure][node].item() / total) if total else None,
            *(round(tree.totals[name][node].item()) for name in shown),
        )
        for depth, node in _walk(tree, measure, enough)
    ]
    left = len(tree) - len(lines)
    notes = (
        (f"{left:,} nodes below {min_percent:g} % are hidden. Use --min-percent to show them.",)
        if left
        else ()
    )
    return Table(title, ["function", "%", *(_WORDS[name] for name in shown)], lines, notes)


def _walk(tree: Tree, measure: str, enough: float) -> Iterator[tuple[int, int]]:
    """Yield the depth and number of each node from the top down, the largest siblings first."""
    children, amounts = tree.children(), tree.totals[measure]
    waiting = [(0, 0)]  # depth and node
    while waiting:
        depth, node = waiting.pop()
        yield depth, node
        below = sorted(children[node], key=lambda child: amounts[child].item())
        waiting += [(depth + 1, child) for child in below if amounts[child] >= enough]


def apart_table(found: Apart) -> Table:
    """Return a table of the resident bytes with one heap and with two heaps."""
    return Table(
        "",
        ("resident bytes", "together", "apart", "saved"),
        [
            (when, together, parted, together - parted)
            for when, together, parted in (
                ("at the peak", found.peak_resident_bytes, found.peak_apart_bytes),
                ("when the saving is largest", found.then_resident_bytes, found.then_apart_bytes),
            )
        ],
    )


def proposal_text(proposal: Proposal) -> str:
    """Return a proposal in words, without a full stop."""
    found = proposal.apart
    when = "at the event with the largest saving" if found.counts_then else "at the peak"
    shorter = proposal.events < proposal.of_events
    part = f" of the first {proposal.events:,} events" if shorter else ""
    return (
        f"A separate arena for the objects of {_listed(proposal.frames)} would reduce resident "
        f"memory from {spell_bytes(found.together_bytes)} to {spell_bytes(found.apart_bytes)} "
        f"{when}{part}"
    )


def _listed(frames: Sequence[Frame]) -> str:
    *others, last = (spell_frame(frame.short) for frame in frames)
    return f"{', '.join(others)} and {last}" if others else last


def spell_frame(frame: Frame) -> str:
    """Return a frame as text."""
    if not frame.file:
        return frame.function
    place = f"{frame.file}:{frame.line}" if frame.line else frame.file
    return f"{frame.function} ({place})"


def _place(frame: Frame) -> dict[str, Any]:
    return {
        "function": frame.function,
        "file": frame.file or None,
        "line": frame.line or None,
    }


def _columns(measure: str, values: Mapping[str, Any]) -> list[str]:
    """Return the measures of a table, with the requested measure first."""
    usual = _HELD_COLUMNS if "pinned_bytes" in values else _ASKED_COLUMNS
    return [measure, *(name for name in usual if name != measure)] if values else []


def _cell(value: Any) -> Value:
    if isinstance(value, list):
        return " < ".join(map(str, value))
    found: Value = value
    return found
