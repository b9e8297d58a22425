"""Policies that predict lifetimes by site: they learn from one trace and place another.

    simalloc run b.npz -p docs/examples/site_policies.py:LifetimeArenas:training=a.npz

docs/sites-policies.md measures these policies. The tests run them on both engines.
"""

from bisect import bisect_right

from simalloc.measure.sites.lifetimes import predicted_young
from simalloc.policy import UserPolicy
from simalloc.trace.catalogue import load


class PredictsLifetimes(UserPolicy):
    """Base class: predicts lifetimes by size, site or stack from a training trace."""

    training = ""
    by = "site"

    def predict(self, trace, age, share):
        whole = trace.in_memory()
        training = load(self.training) if self.training else whole
        return predicted_young(training, whole, self.by, age, share).tolist()

    def free(self, heap, block):
        heap.insert(heap.merge(block))


class TwoEnds(PredictsLifetimes):
    """Best fit. Objects predicted to die young take the high end of a block, others the low end."""

    growth = 16

    def begin(self, trace):
        whole = trace.in_memory()
        age = int(whole.replayed.live.max(initial=0)) // 2
        self.young = self.predict(trace, age, 0.5)

    def malloc(self, heap, size):
        block = heap.best_fit(size) or heap.grow(size, self.growth)
        return (heap.split_high if self.young[heap.event] else heap.split)(block, size)


class LifetimeArenas(PredictsLifetimes):
    """Small arenas for objects predicted to die young, best fit for others (Barrett & Zorn 1993).

    An arena is filled from its low end, and used again when every object in it has died. An object
    that no arena can hold is placed by best fit. A kind of objects is predicted to die young if
    every object of it died in the training trace before `age` more bytes were allocated. `age` is
    in program bytes, other sizes are in scaled bytes.
    """

    growth = 16
    arena = 4096
    arenas = 16
    age = 32768

    def begin(self, trace):
        self.young = self.predict(trace, self.age, 1.0)
        self.starts = []
        self.live = [0] * self.arenas
        self.tails = [None] * self.arenas
        self.current = 0

    def malloc(self, heap, size):
        if self.young[heap.event] and size <= self.arena:
            if not self.starts:
                self.open(heap)
            for _ in range(self.arenas):
                tail = self.tails[self.current]
                if tail is not None and tail.size >= size:
                    return self.take(heap, tail, size)
                self.current = (self.current + 1) % self.arenas
        block = heap.best_fit(size) or heap.grow(size, self.growth)
        return heap.split(block, size)

    def open(self, heap):
        """Extend the heap by all arenas, one after the other."""
        for number in range(self.arenas):
            self.tails[number] = heap.extend(self.arena)
            self.starts.append(self.tails[number].address)

    def take(self, heap, tail, size):
        taken = heap.split(tail, size)
        if taken is tail:
            self.tails[self.current] = None
        self.live[self.current] += 1
        return taken

    def free(self, heap, block):
        number = self.home(block)
        if number is None:
            super().free(heap, block)
            return
        self.live[number] -= 1
        if not self.live[number]:
            self.empty(heap, number, block)

    def home(self, block):
        """Return the number of the arena that contains a block, or None for other blocks."""
        place = bisect_right(self.starts, block.address) - 1
        inside = place >= 0 and block.address < self.starts[place] + self.arena
        return place if inside else None

    def empty(self, heap, number, block):
        """Join all blocks of an arena without live objects."""
        end = self.starts[number] + self.arena
        while block.address > self.starts[number]:
            block = heap.join(block.previous, block)
        while block.address + block.size < end:
            block = heap.join(block, block.next)
        self.tails[number] = block
