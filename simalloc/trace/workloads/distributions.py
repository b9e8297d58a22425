"""Distributions of sizes and lifetimes, written as text: `lognormal:median=64,sigma=1.2`."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.files import read_text
from simalloc.trace.catalogue import load
from simalloc.trace.events import MAX_SIZE
from simalloc.trace.lives import lives_of
from simalloc.trace.workloads.parameters import read_parameters

Floats = NDArray[np.float64]
T = TypeVar("T")


class Sizes(Protocol):
    """A distribution of requested sizes in bytes."""

    def draw(self, count: int, generator: np.random.Generator) -> Floats:
        """Return `count` sizes. The caller rounds them to whole bytes of at least 1."""


class Lifetimes(Protocol):
    """A distribution of lifetimes in allocations."""

    def draw(self, sizes: Floats, generator: np.random.Generator) -> Floats:
        """Return a lifetime for each size, or infinity for an object that is never freed."""


@dataclass(frozen=True)
class Constant:
    """Always the same value."""

    value: float = 64

    def draw(self, count: int, generator: np.random.Generator) -> Floats:  # noqa: ARG002 - as others
        """Return the value `count` times."""
        return np.full(count, float(self.value))


@dataclass(frozen=True)
class Uniform:
    """Uniformly distributed values from `min` to `max`."""

    min: float = 16
    max: float = 1024

    def __post_init__(self) -> None:
        _check(self.min <= self.max, "uniform: min exceeds max")

    def draw(self, count: int, generator: np.random.Generator) -> Floats:
        """Return `count` values."""
        return np.floor(generator.uniform(self.min, self.max + 1, count))


@dataclass(frozen=True)
class LogNormal:
    """Values with a normally distributed logarithm: half are below `median`; none exceeds `max`."""

    median: float = 64
    sigma: float = 1.2
    max: float = 1 << 30

    def __post_init__(self) -> None:
        _check(self.median > 0, "lognormal: median is not positive")

    def draw(self, count: int, generator: np.random.Generator) -> Floats:
        """Return `count` values."""
        drawn = self.median * np.exp(self.sigma * generator.standard_normal(count))
        return np.minimum(drawn, self.max)


@dataclass(frozen=True)
class PowerLaw:
    """Values from `min` to `max` with a density proportional to x ** -`alpha` (bounded Pareto)."""

    alpha: float = 2
    min: float = 16
    max: float = 1 << 20

    def __post_init__(self) -> None:
        _check(1 <= self.min < self.max, "powerlaw: min must be at least 1 and below max")

    def draw(self, count: int, generator: np.random.Generator) -> Floats:
        """Return `count` values, by inversion of the distribution function."""
        place = generator.random(count)
        if self.alpha == 1:
            return np.asarray(self.min * (self.max / self.min) ** place)
        power = 1 - self.alpha
        low, high = self.min**power, self.max**power
        return np.asarray((low + place * (high - low)) ** (1 / power))


@dataclass(frozen=True)
class Table:
    """Sizes from a CSV `file` without a header, or the sizes in a `trace` (a name or a path).

    A line is size,weight or size,weight,live. `weight` is proportional to the number of allocations
    of the size, and `live` is proportional to the mean number of live objects of the size. The
    distributions that Google publishes with fleetbench (size, alloc_rate, num_live) have this form.
    """

    file: str = ""
    trace: str = ""

    def __post_init__(self) -> None:
        _check(bool(self.file) != bool(self.trace), "a table has either file=FILE or trace=TRACE")

    def draw(self, count: int, generator: np.random.Generator) -> Floats:
        """Return `count` sizes."""
        size, weight, _ = self.columns()
        return size[generator.choice(len(size), count, p=weight / weight.sum())]

    def columns(self) -> tuple[Floats, Floats, Floats]:
        """Return sizes, weights and live numbers. Live numbers are 0 if the file has none."""
        return _columns_of_file(self.file) if self.file else _columns_of_trace(self.trace)


@cache
def _columns_of_file(path: str) -> tuple[Floats, Floats, Floats]:
    try:
        rows = [row for row in csv.reader(read_text(path).splitlines()) if row]
        size, weight, live = np.array([(*map(float, row), 0.0)[:3] for row in rows]).T
    except OSError as error:
        raise SimallocError(f"{path}: {error.strerror}") from None
    except (ValueError, csv.Error):
        raise SimallocError(
            f"{path}: every line needs two or three numbers: size,weight[,live]"
        ) from None
    sound = (size >= 0) & (size <= MAX_SIZE) & (weight >= 0) & (live >= 0)
    finite = np.isfinite(weight) & np.isfinite(live)
    if not (sound & finite).all() or not weight.sum() > 0:
        raise SimallocError(
            f"{path}: a size, weight or live number is negative; all take 0 or more"
        )
    return size, weight, live


@cache
def _columns_of_trace(name: str) -> tuple[Floats, Floats, Floats]:
    sizes, lifetimes = _objects_of(name)
    size, place, weight = np.unique(sizes, return_inverse=True, return_counts=True)
    live = np.bincount(place, lifetimes) / len(sizes)
    return size, weight.astype(np.float64), live


@cache
def _objects_of(name: str) -> tuple[Floats, Floats]:
    """Return the size and the lifetime, in allocations, of each object of a trace."""
    lives = lives_of(load(name))
    if not len(lives):
        raise SimallocError(f"{name} has no objects to take sizes from")
    return lives.size.astype(np.float64), lives.length.astype(np.float64)


@dataclass(frozen=True)
class Exponential:
    """Exponential lifetimes with mean `mean`: the remaining life does not depend on the age."""

    mean: float = 1000

    def draw(self, sizes: Floats, generator: np.random.Generator) -> Floats:
        """Return a lifetime for each size."""
        return generator.exponential(self.mean, len(sizes))


@dataclass(frozen=True)
class PowerLawLifetimes(PowerLaw):
    """Lifetimes from `min` to `max` allocations with a density proportional to x ** -`alpha`."""

    min: float = 1
    max: float = 100_000

    def draw(self, sizes: Any, generator: np.random.Generator) -> Floats:
        """Return a lifetime for each size."""
        return super().draw(len(sizes), generator)


@dataclass(frozen=True)
class Fifo:
    """A queue of `length` objects: the oldest is freed first."""

    length: float = 1000

    def draw(self, sizes: Floats, generator: np.random.Generator) -> Floats:  # noqa: ARG002 - as others
        """Return the length of the queue for each size."""
        return np.full(len(sizes), float(self.length))


@dataclass(frozen=True)
class Lifo:
    """A stack of at most `depth` objects: the newest is freed first.

    The stack's depth is a random walk with steps of 1, reflected at 0 and at `depth`.
    """

    depth: float = 1000

    def draw(self, sizes: Floats, generator: np.random.Generator) -> Floats:
        """Return the lifetimes from the random walk, one for each size."""
        count, depth = len(sizes), max(int(self.depth), 1)
        walk = np.cumsum(generator.integers(2, size=2 * count) * 2 - 1)
        after = np.abs((walk + depth) % (2 * depth) - depth)
        before = np.concatenate([[0], after[:-1]])
        # A pop is the next step between the same two depths as its push.
        level = np.minimum(before, after)
        order = np.argsort(level, kind="stable")
        follows = np.full(2 * count, 2 * count)
        same = level[order[1:]] == level[order[:-1]]
        follows[order[:-1][same]] = order[1:][same]
        pushes = np.flatnonzero(after > before)  # at least half of the steps
        popped = follows[pushes]
        until = np.searchsorted(pushes, popped)
        lifetimes = np.where(popped < 2 * count, until - np.arange(len(pushes)), np.inf)
        return np.asarray(lifetimes[:count], np.float64)


@dataclass(frozen=True)
class Generational:
    """Most objects die young.

    A fraction `old` has the mean lifetime `tenured`, the others `young`.
    """

    young: float = 50
    tenured: float = 20_000
    old: float = 0.05

    def draw(self, sizes: Floats, generator: np.random.Generator) -> Floats:
        """Return a lifetime for each size."""
        mean = np.where(generator.random(len(sizes)) < self.old, self.tenured, self.young)
        return np.asarray(generator.exponential(1, len(sizes)) * mean)


@dataclass(frozen=True)
class BySize(Table):
    """Exponential lifetimes whose mean depends on the size, from a table with live numbers.

    The mean in allocations is live / weight * total weight (Little's law). A size that is not in
    the table has the mean of the next larger size.
    """

    def draw(self, sizes: Any, generator: np.random.Generator) -> Floats:
        """Return a lifetime for each size."""
        size, weight, live = self.columns()
        used = np.flatnonzero(weight > 0)
        used = used[np.argsort(size[used], kind="stable")]
        mean = live[used] / weight[used] * weight.sum()
        place = np.clip(np.searchsorted(size[used], sizes), 0, len(used) - 1)
        return np.asarray(generator.exponential(1, len(sizes)) * mean[place])


@dataclass(frozen=True)
class Resampled:
    """The lifetimes of random objects of the same size in a `trace` (a name or a path)."""

    trace: str

    def draw(self, sizes: Floats, generator: np.random.Generator) -> Floats:
        """Return a lifetime for each size. An unknown size uses the next larger size."""
        known, lifetimes = _objects_of(self.trace)
        order = np.argsort(known, kind="stable")
        size, first, count = np.unique(known[order], return_index=True, return_counts=True)
        place = np.clip(np.searchsorted(size, sizes), 0, len(size) - 1)
        drawn = first[place] + (generator.random(len(sizes)) * count[place]).astype(np.int64)
        return np.asarray(lifetimes[order[drawn]])


SIZES: Final[Mapping[str, Callable[..., Sizes]]] = {
    "constant": Constant,
    "uniform": Uniform,
    "lognormal": LogNormal,
    "powerlaw": PowerLaw,
    "table": Table,
}

LIFETIMES: Final[Mapping[str, Callable[..., Lifetimes]]] = {
    "exponential": Exponential,
    "powerlaw": PowerLawLifetimes,
    "fifo": Fifo,
    "lifo": Lifo,
    "generational": Generational,
    "by-size": BySize,
    "resampled": Resampled,
}


def read_distribution(text: object, kinds: Mapping[str, Callable[..., T]], what: str) -> T:
    """Return the distribution described by a text such as `uniform:min=16,max=4K`.

    `kinds` maps names to classes; `what` names the distributed quantity in errors. Raises
    `SimallocError` for an unknown name, an unknown parameter, or a value out of range.
    """
    classes: Mapping[str, Any] = kinds
    known = {name: [field.name for field in fields(kind)] for name, kind in classes.items()}
    name, given = read_parameters(text, known, what)
    for field in fields(classes[name]):
        if field.default is MISSING and field.name not in given:
            raise SimallocError(f"{name} needs {field.name}, as in {name}:{field.name}=espresso")
    return kinds[name](**given)


def _check(holds: bool, words: str) -> None:  # noqa: FBT001 - a condition
    if not holds:
        raise SimallocError(words)
