"""Tables of fixed pools: the smallest pool, larger pools that fail, and safe sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from simalloc.plural import counted
from simalloc.policy import spell
from simalloc.report.table import Rounded, Table, Value

if TYPE_CHECKING:
    from simalloc.pool.answer import Answer
    from simalloc.pool.block_pools import BlockPools
    from simalloc.pool.diagnosis import Diagnosis
    from simalloc.pool.margins import Margin

_NOTES: Final = (
    "smallest: the smallest pool that serves every request, in bytes, with headers and tables.",
    "fail above: number of larger pool sizes, up to 1.3 times the smallest, that refuse a request.",
    "safe: every pool from this size to twice the smallest serves every request.",
    "high water: the highest offset that a block reaches in a very large pool.",
    "works: whether a pool of the high-water size serves every request.",
    "largest free: the minimum over time of the largest free block, in a pool of the safe size.",
    "longest search: the maximum number of blocks or lists that one request visits in that pool.",
)

_MAX_SEPARATORS: Final = 12


def pools_table(answers: Sequence[Answer]) -> Table:
    """Return a table with a row per policy, in order of the smallest pool."""
    columns = (
        "policy", "smallest", "× peak live", "fail above", "safe", "largest free", "high water",
        "works", "longest search",
    )  # fmt: skip
    ordered = sorted(answers, key=lambda each: each.sizes.smallest if each.sizes else 1 << 62)
    rows: list[Sequence[Value]] = [_row(each) for each in ordered]
    trace = answers[0].trace if answers else ""
    notes = [*_NOTES]
    if answers:
        notes.insert(0, f"Peak live: {answers[0].peak_live:,} bytes. No pool can be smaller.")
    return Table(f"Pools for {trace}", columns, rows, notes)


def _row(answer: Answer) -> Sequence[Value]:
    sizes = answer.sizes
    if sizes is None:
        return (spell(answer.policy), f"none to {answer.searched_to:,}", *(None,) * 7)
    return (
        spell(answer.policy),
        sizes.smallest,
        Rounded(sizes.smallest / answer.peak_live, 3) if answer.peak_live else None,
        len(sizes.near),
        sizes.safe,
        answer.largest_free,
        answer.high_water,
        "yes" if answer.high_water_works else "no",
        answer.steps,
    )


def margins_table(margins: Sequence[Margin]) -> Table:
    """Return a table with a row per policy: its pools without and with variations of the traces."""
    columns = ("policy", "recorded", "with variations", "margin %", "safe", "needed by")
    rows: list[Sequence[Value]] = []
    for margin in margins:
        recorded, varied = margin.recorded.sizes, margin.varied.sizes
        rows.append(
            (
                spell(margin.recorded.policy),
                recorded.smallest if recorded else None,
                varied.smallest if varied else None,
                None if margin.share is None else Rounded(100 * margin.share, 2),
                varied.safe if varied else None,
                margin.worst.name if margin.worst else None,
            )
        )
    notes = (
        "with variations: the smallest pool that serves the recorded traces and all variations.",
        "safe: no size from this size to twice the smallest pool fails on any of these traces.",
    )
    count = margins[0].variations if margins else 0
    return Table(f"Margins over {counted(count, 'variation')} of each trace", columns, rows, notes)


def pool_record(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values, ready for JSON."""
    sizes = answer.sizes
    parameters: Mapping[str, Any] = answer.policy.parameters
    return {
        "trace": answer.trace,
        "policy": answer.policy.name,
        "parameters": {name: value for name, value in parameters.items() if name != "capacity"},
        "least_bytes": sizes.smallest if sizes else None,
        "failing_bytes": list(sizes.near) if sizes else [],
        "safe_bytes": sizes.safe if sizes else None,
        "peak_live_bytes": answer.peak_live,
        "lower_bound_bytes": answer.lower_bound,
        "min_largest_free_bytes": answer.largest_free,
        "high_water_bytes": answer.high_water,
        "high_water_works": answer.high_water_works,
        "visited_worst": answer.steps,
        "grain_bytes": sizes.grain if sizes else None,
        "searched_to_bytes": answer.searched_to,
    }


def diagnosis_table(found: Diagnosis) -> Table:
    """Return a table of the objects that separate free blocks, with the remedies in its notes."""
    columns = ("between free blocks", "objects", "bytes", "mean age, events", "never freed")
    rows: list[Sequence[Value]] = [
        (each.what, each.objects, each.bytes, Rounded(each.age, 0), each.never_freed)
        for each in found.separators[:_MAX_SEPARATORS]
    ] or [("none", 0, 0, None, 0)]
    notes = (
        found.verdict,
        f"Event {found.event:,} of the trace was refused; peak live is {found.peak_live:,} bytes.",
        *_remedies(found),
    )
    return Table(f"{spell(found.policy)}: the first refused request", columns, rows, notes)


def _remedies(found: Diagnosis) -> list[str]:
    """Return remedies: a smaller request, another order, block pools or another allocator."""
    remedies = []
    if found.largest_request is not None:
        remedies.append(
            f"The largest request that would have been served is {found.largest_request:,} bytes."
        )
    if kept := sum(each.never_freed for each in found.separators):
        remedies.append(
            f"Between free blocks, {counted(kept, 'object')} {'is' if kept == 1 else 'are'} never "
            "freed; allocate such objects at the program's start."
        )
    if (blocks := found.block_pools) is not None:
        sizes = ", ".join(f"{each.count:,} x {each.size:,}" for each in blocks.pools)
        remedies.append(
            f"{'A block pool' if len(blocks.pools) == 1 else 'Block pools'} of {sizes} bytes and a "
            f"heap of {found.capacity - blocks.pool_bytes:,} bytes serve every request."
        )
    helps = ", ".join(found.served_by) or "none"
    remedies.append(f"Allocators that serve every request in {found.capacity:,} bytes: {helps}.")
    return remedies


def block_pools_table(found: BlockPools, alone: Answer, rest: Answer) -> Table:
    """Return a table with a row per pool of fixed-size blocks, and a row for the remaining heap.

    `alone` is the heap without block pools, and `rest` the heap beside them.
    """
    columns = ("block", "blocks", "bytes")
    heap, least = (each.sizes.smallest if each.sizes else None for each in (rest, alone))
    rows: list[Sequence[Value]] = [(each.size, each.count, each.total) for each in found.pools]
    rows.append((f"heap ({spell(alone.policy)})", None, heap))
    total = None if heap is None else found.pool_bytes + heap
    together, only = (
        "none found" if each is None else f"{each:,} bytes" for each in (total, least)
    )
    notes = (
        f"Pools and heap together: {together}. The heap alone: {only}.",
        f"The heap serves requests above {found.largest:,} bytes, up to {found.rest_largest:,}.",
    )
    return Table("Block pools", columns, rows, notes)


def margin_record(margin: Margin) -> dict[str, Any]:
    """Return the pool sizes with variations as plain values, ready for JSON."""
    sizes = margin.varied.sizes
    return {
        "variations": margin.variations,
        "least_bytes": sizes.smallest if sizes else None,
        "failing_bytes": list(sizes.near) if sizes else [],
        "safe_bytes": sizes.safe if sizes else None,
        "needed_by": margin.worst.name if margin.worst else None,
    }


def diagnosis_record(found: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as plain values, ready for JSON."""
    return {
        "verdict": found.verdict,
        "capacity_bytes": found.capacity,
        "first_refused_event": found.event,
        "requested_bytes": found.asked,
        "live_bytes": found.live,
        "free_bytes": found.free,
        "largest_free_bytes": found.largest_free,
        "largest_request_bytes": found.largest_request,
        "free_blocks": found.free_blocks,
        "separators": [asdict(each) for each in found.separators],
        "served_by": list(found.served_by),
        "block_pools": _pool_records(found.block_pools) if found.block_pools else [],
    }


def block_pools_record(found: BlockPools, rest: Answer) -> dict[str, Any]:
    """Return block pools and the heap beside them as plain values, ready for JSON."""
    return {
        "pools": _pool_records(found),
        "pool_bytes": found.pool_bytes,
        "heap_least_bytes": rest.sizes.smallest if rest.sizes else None,
    }


def _pool_records(found: BlockPools) -> list[dict[str, int]]:
    return [{"size": each.size, "count": each.count} for each in found.pools]
