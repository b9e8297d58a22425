"""Base classes of all families."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from math import gcd
from typing import Annotated, Any, ClassVar, get_type_hints

from simalloc.errors import PolicyError
from simalloc.policy.parts import Aligning, Amount, Count, Extra, Granule, Overhead, Range


@dataclass(frozen=True, kw_only=True)
class Family:
    """Base class of the descriptions of heaps, devices and pools.

    A description contains no decisions. `simalloc.heap` implements it, once in plain Python
    (`heap/reference`, the definition) and once in C. A heap has more parameters (`HeapFamily`). In
    this class, these parameters have the values of an allocator without them.
    """

    family: ClassVar[str]
    """Name of the family."""
    reference: ClassVar[str] = ""
    """Module in `heap/reference/families` and class of the reference engine, as `module:Class`.

    Empty if the family has no reference engine, for example because it is compiled outside the
    package."""
    recordings: ClassVar[bool] = False
    """True if the core is compared with recordings of the real code, not with a reference
    engine.
    """
    compiled: ClassVar[object] = None
    """Capsule of a family that is compiled outside the package, or None for a family of the
    core.
    """
    runner: ClassVar[str] = "online"
    """Name of the runner (`simalloc.heap.running.runners`)."""
    in_all: ClassVar[bool] = True
    """True if `all` includes policies of this family."""
    only_scale: ClassVar[int] = 0
    """Only scale at which the family runs, or 0 for any scale."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Optional columns of a trace that a placement depends on; only these are passed to the
    family.
    """
    writes_itself: ClassVar[bool] = False
    """True if the family reports its own writes: headers, tables, bytes cleared by calloc."""
    writes_objects: ClassVar[bool] = False
    """True if the family also reports the program's writes, because objects begin anywhere in
    blocks."""
    stops_when_refused: ClassVar[bool] = False
    """True if a run ends with a refused request by default."""
    is_slow: ClassVar[bool] = False
    """True if events are slow, and progress and Ctrl-C need more frequent checks."""

    @property
    def capacity(self) -> int:
        """Bytes that the allocator can take from the system, unscaled, or 0 if unlimited."""
        return 0

    @property
    def mechanism(self) -> bool:
        """True if blocks have the headers and tables of the allocator described."""
        return False

    @property
    def memalign(self) -> bool:
        """True if requested alignments are served by the common rule."""
        return False

    @property
    def quick(self) -> int:
        """Maximum bytes of a freed block that waits for a request of its size, or 0 for none."""
        return 0

    @property
    def cache(self) -> int:
        """Maximum number of larger blocks that wait to be coalesced."""
        return 0

    @property
    def count_frees(self) -> bool:
        """True if deallocations are counted; a parameter of some families."""
        return False

    @property
    def overhead(self) -> Overhead:
        """Overhead of the allocator's own mechanism on a request."""
        return Overhead()

    @property
    def applied_overhead(self) -> Overhead:
        """Overhead of a request."""
        return Overhead()

    @property
    def payload(self) -> int:
        """Scaled bytes of a block in front of the bytes that the program may write."""
        return 0

    @property
    def read_columns(self) -> tuple[str, ...]:
        """Optional columns of a trace that a placement with these parameters depends on."""
        return self.columns

    @property
    def aligning(self) -> Aligning | None:
        """Rule for requested alignments, or None if the common rule does not apply."""
        return None

    def core_parameters(self) -> dict[str, int | str]:
        """Return all parameters by the core's names, as plain values."""
        return HeapFamily().core_parameters()

    @property
    def library_bytes(self) -> int:
        """Static memory of the malloc's library that is resident after one request, in bytes.

        This memory is the library's own data in whole pages, which no model of its heap includes.
        It is 0 for a malloc of the C library, and without mechanism.
        """
        return 0

    @property
    def core(self) -> str:
        """Name of the core's implementation."""
        return self.family

    def allocates_for_threads(self, provenance: Mapping[str, Any]) -> bool:
        """Return whether the C library's allocations for threads precede the first event.

        If the program was recorded, or if the log's tool sees these allocations, they are events of
        the trace.
        """
        return "recorder" not in provenance and provenance.get("thread_blocks") is not True

    def spell_location(self, region: int, number: int, offset: float) -> str:
        """Return the location of an object in the allocator's terms."""
        del region, number
        return str(offset)

    def figure_columns(self, names: Sequence[str]) -> Sequence[str]:
        """Return the columns of the allocator's own statistics."""
        return names

    def spell_figures(
        self, figures: Mapping[str, int], location: tuple[int, int, float] | None
    ) -> Sequence[object]:
        """Return the values of these columns after an event; `location` is None without object."""
        del location
        return list(figures.values())


@dataclass(frozen=True, kw_only=True)
class HeapFamily(Family):
    """Base class of the descriptions of heaps. Sizes are in scaled bytes.

    The parameters here are common to all heaps (docs/policies.md, Parts).
    """

    cuts: ClassVar[bool] = False
    """True if blocks are cut at any byte of memory that grows by multiples of `growth`."""

    capacity: Annotated[
        Amount,
        "Maximum bytes that the allocator takes from the system, not multiplied by the scale; 0: "
        "no limit. A request that needs more is refused.",
    ] = 0
    mechanism: Annotated[bool, "Model the headers and tables of the described allocator."] = False
    word: Annotated[
        int,
        Range(4, 8, 4),
        "Bytes of a machine word, 4 or 8. Headers and tables consist of words.",
    ] = 4
    header: Annotated[Extra, "Bytes added in front of each request."] = 0
    footer: Annotated[Extra, "Bytes added behind each request."] = 0
    alignment: Annotated[Granule, "The size of a block is rounded up to a multiple of this."] = 1
    minimum: Annotated[Granule, "Minimum size of a block, in bytes."] = 1
    quick: Annotated[
        Amount, "Freed blocks of up to this size wait, unmerged, for a request of the same size."
    ] = 0
    cache: Annotated[
        int,
        Count(0, 1 << 31),
        "Maximum number of freed blocks larger than `quick` that wait, unmerged, for a request of "
        "the same size. When one more is freed, all of them are coalesced.",
    ] = 0
    count_frees: Annotated[
        bool,
        "Count the frees that coalesce, and the free blocks that each free visits.",
    ] = False
    memalign: Annotated[bool, "Serve the alignments that the trace's requests specify."] = False

    def __post_init__(self) -> None:
        family: Any = type(self)  # a class can be hashed, but not each of its instances
        for name, kind in parameter_ranges(family).items():
            kind.check(name, getattr(self, name))
        by_hand = [
            part.name for part in fields(Overhead) if getattr(self, part.name) != part.default
        ]
        if self.mechanism and by_hand:
            raise PolicyError(
                f"{by_hand[0]} cannot be set with mechanism=on, which uses the allocator's own "
                f"{by_hand[0]}"
            )
        if self.memalign and self.aligning is None:
            raise PolicyError(
                f"memalign is on, but {self.family} cannot serve requested alignments; leave "
                "out memalign"
            )

    @property
    def overhead(self) -> Overhead:
        """Overhead of the allocator's own mechanism: by default, boundary tags.

        Knuth 1973, 2.5: a word in front of the block and one behind it, and blocks of at least four
        words, with space for the links of a list.
        """
        word = self.word
        return Overhead(header=word, footer=word, alignment=2 * word, minimum=4 * word)

    @property
    def applied_overhead(self) -> Overhead:
        """Overhead of a request: the allocator's own with `mechanism`, or the parameters'."""
        if self.mechanism:
            return self.overhead
        return Overhead(self.header, self.footer, self.alignment, self.minimum)

    @property
    def payload(self) -> int:
        """Scaled bytes of a block in front of the bytes that the program may write."""
        return self.applied_overhead.header

    @property
    def read_columns(self) -> tuple[str, ...]:
        """Optional columns of a trace that a placement with these parameters depends on."""
        return (*self.columns, *(["alignment"] if self.memalign else []))

    @property
    def aligning(self) -> Aligning | None:
        """Rule for requested alignments, or None if the family cannot serve them.

        If blocks are cut at any byte, a larger block is taken and its excess is freed.
        """
        given = vars(self)
        return self.cutting(given["growth"], given.get("minimum_split", 1)) if self.cuts else None

    def cutting(self, grain: int, least: int = 1) -> Aligning:
        """Return the alignment rule of blocks that are cut at any byte.

        No remainder is smaller than `least`. Each growth of the heap, and each other area from
        which blocks are cut, is a multiple of `grain`.
        """
        added = self.applied_overhead
        least = max(least, added.minimum)
        return Aligning(
            guaranteed=gcd(grain, added.alignment, max(added.alignment, added.minimum)),
            min_remainder=-(-least // added.alignment) * added.alignment,
            unit=added.alignment,
        )

    def core_parameters(self) -> dict[str, int | str]:
        """Return all parameters by the core's names, as plain values.

        The resulting overhead replaces the parameters that define it.
        """
        given = vars(self) | vars(self.applied_overhead)
        served = (self.aligning if self.memalign else None) or Aligning()
        given |= {"guaranteed": served.guaranteed, "natural_limit": served.natural_limit}
        given |= {
            "columns": 0,
            "min_remainder": served.min_remainder,
            "remainder_unit": served.unit,
            "payload": self.payload,
        }
        return {
            name: value.value if isinstance(value, Enum) else value for name, value in given.items()
        }


@cache
def parameter_types(family: Any) -> dict[str, Any]:
    """Return the type of each parameter; the family's own parameters precede shared ones."""
    return {name: hint for name, hint, _ in _hints(family)}


@cache
def shared_defaults(family: Any) -> dict[str, Any]:
    """Return the defaults of the parameters that a family shares with other families."""
    shared = {name for base in family.__mro__[1:] for name in vars(base).get("__annotations__", {})}
    return {part.name: part.default for part in fields(family) if part.name in shared}


@cache
def parameter_ranges(family: Any) -> dict[str, Range]:
    """Return the range of each parameter that has one."""
    return {
        name: extra
        for name, _, extras in _hints(family)
        for extra in extras
        if isinstance(extra, Range)
    }


@cache
def parameter_meanings(family: Any) -> dict[str, str]:
    """Return the description of each parameter, from the family or its base classes."""
    return {
        name: extra
        for kind in reversed(family.__mro__)
        for name, hint in get_type_hints(kind, include_extras=True).items()
        for extra in _taken_apart(hint)[1]
        if isinstance(extra, str)
    }


@cache
def _hints(family: Any) -> list[tuple[str, Any, tuple[object, ...]]]:
    """Return name, type and annotations of each parameter; cached, because this takes 1 ms."""
    full = get_type_hints(family, include_extras=True)
    shared = shared_defaults(family)
    names = [part.name for part in fields(family)]
    names.sort(key=lambda name: (name in shared, name in HeapFamily.__dataclass_fields__))
    return [(name, *_taken_apart(full[name])) for name in names]


def _taken_apart(hint: Any) -> tuple[Any, tuple[object, ...]]:
    """Return the type and the annotations of a type that may be `Annotated`."""
    extras = getattr(hint, "__metadata__", ())
    return (hint.__origin__ if extras else hint), extras
