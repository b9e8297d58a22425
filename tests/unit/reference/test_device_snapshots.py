"""Every address and every segment that real GPUs' allocators gave, by the reference.

The allocator is put into the state in which the recorded one was when the history began, and its
device hands out the addresses that the real one did.
"""

import gzip
import pickle
from pathlib import Path

import pytest

from simalloc.heap.reference.families.pytorch.pytorch import PyTorchHeap
from simalloc.heap.reference.heap import Request
from simalloc.policy import find_policy

TRUTH = Path(__file__).parents[4] / "shared" / "traces" / "device"
SNAPSHOTS = sorted(TRUTH.glob("*.pickle.gz"))
GIVES_OR_MAPS = {"segment_free", "segment_map", "segment_unmap", "oom"}
MIB = 1 << 20


class Recorded:
    """A snapshot of one device that only ever took memory."""

    def __init__(self, path):
        with gzip.open(path) as file:
            snapshot = pickle.load(file)
        device, self.history = max(
            enumerate(snapshot["device_traces"]), key=lambda trace: len(trace[1])
        )
        self.segments = {
            each["address"]: each
            for each in snapshot["segments"]
            if each.get("device", device) == device
        }
        self.taken = [each for each in self.history if each["action"] == "segment_alloc"]

    def live_at_start(self):
        """Return the requested sizes of what was live before the history, by address."""
        live = {
            block["address"]: block["requested_size"]
            for segment in self.segments.values()
            for block in segment["blocks"]
            if block["state"] == "active_allocated"
        }
        for entry in reversed(self.history):
            if entry["action"] == "free_completed":
                live[entry["addr"]] = entry["size"]
            elif entry["action"] == "alloc":
                del live[entry["addr"]]
        return live

    def block_sizes(self, live, rounded):
        """Return the sizes of the blocks that were live before the history."""
        first_used = {}
        for entry in self.history:
            if entry["action"] == "alloc":
                first_used.setdefault(entry["addr"], len(first_used))
        kept = {
            block["address"]: block["size"]
            for segment in self.segments.values()
            for block in segment["blocks"]
            if block["state"] == "active_allocated"
        }
        freed = {e["addr"] for e in self.history if e["action"] == "free_completed"}
        sizes = {}
        for address, requested in live.items():
            if address not in freed:
                sizes[address] = kept[address]
                continue
            end = address + rounded(requested)
            segment = self._segment_of(address)
            border = segment["address"] + segment["total_size"]
            behind = min((each for each in live if address < each < border), default=border)
            gap = behind - end if segment["segment_type"] == "large" else 0
            inside = [used for used in first_used if end <= used < end + gap]
            first = min(inside, key=first_used.get, default=None)
            if 0 < gap <= MIB:
                end += gap
            elif first is not None and first - end <= MIB:
                end = first
            sizes[address] = end - address
        return sizes

    def _segment_of(self, address):
        return self.segments[max(each for each in self.segments if each <= address)]


class RecordedHeap(PyTorchHeap):
    """The allocator on a device that hands out the addresses that the real one did."""

    def __init__(self, description, recorded):
        super().__init__(description)
        self.blocks.segment_alignment = self.blocks.page = 1
        self.recorded = recorded
        self.asked = []

    def take_segment(self, pool, stream, size):
        self.asked.append(size)
        return self.take_segment_at(
            self.recorded.taken[len(self.asked) - 1]["addr"], pool, stream, size
        )

    def take_segment_at(self, address, pool, stream, size):
        self.blocks._segments._next = address
        return super().take_segment(pool, stream, size)


def begin(heap, recorded):
    """Put the allocator into the state at which the history begins; return the live blocks."""
    live = recorded.live_at_start()
    sizes = recorded.block_sizes(live, heap.rounded)
    later = {each["addr"] for each in recorded.taken}
    blocks = {}
    for address, segment in recorded.segments.items():
        if address in later:
            continue
        pool = heap.pool(0, small=segment["segment_type"] == "small")
        size = segment["total_size"]
        rest = heap.take_segment_at(address, pool, segment["stream"], size)
        for at in sorted(each for each in live if address <= each < address + size):
            if at > rest:
                gap, rest = rest, heap.cut(rest, at - rest)
                heap.put(gap)
            block = rest
            rest = heap.cut(block, sizes[at]) if heap.block_size(block) > sizes[at] else None
            blocks[at] = heap.hand_out(block, live[at])
        if rest is not None:
            heap.put(rest)
    return blocks


@pytest.mark.skipif(not TRUTH.exists(), reason="the ground truth lies beside the project")
@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.name.split(".")[0])
def test_every_address_and_every_segment(path):
    recorded = Recorded(path)
    if any(entry["action"] in GIVES_OR_MAPS for entry in recorded.history):
        pytest.skip("memory was given back or mapped: what was there at the start is not known")
    heap = RecordedHeap(find_policy("pytorch").description, recorded)
    blocks = begin(heap, recorded)
    placed = []
    for entry in recorded.history:
        if entry["action"] == "alloc":
            heap.request = Request(entry["size"], stream=entry["stream"])
            blocks[entry["addr"]] = heap.malloc(entry["size"])
            placed.append((blocks[entry["addr"]], entry["addr"]))
        elif entry["action"] == "free_completed":
            heap.free(blocks.pop(entry["addr"]))
    assert [ours for ours, _ in placed] == [real for _, real in placed]
    assert heap.asked == [each["size"] for each in recorded.taken]
    final = sum(segment["total_size"] for segment in recorded.segments.values())
    assert heap.blocks.mapped == final
