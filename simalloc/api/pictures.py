"""Functions that draw pictures. A notebook displays a picture, and `savefig` saves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from simalloc.api.simulation import simulate
from simalloc.api.traces import Source, open_source, read_trace
from simalloc.arguments import PATH, WINDOW, checked, optional, whole
from simalloc.errors import SimallocError
from simalloc.heap import Realloc, Run
from simalloc.heap.fragmentation import measure_number
from simalloc.heap.quantity import Quantity, quantity
from simalloc.measure import (
    HeapMap,
    Rank,
    Waste,
    device_map,
    free_sizes,
    heap_map,
    pins,
    rank_values,
    ranking,
)
from simalloc.measure.folded_map import folded_map, is_mostly_apart
from simalloc.measure.free_log import read_free_log
from simalloc.measure.heap_map import COLUMNS, ROWS
from simalloc.plural import kind_of
from simalloc.policy import AnyPolicy, expand_policies, spell
from simalloc.progress import progress as any_progress
from simalloc.report.palettes import Theme
from simalloc.sizes import parse_size
from simalloc.sweep import Results
from simalloc.trace import EventSource
from simalloc.trace.statistics import describe

if TYPE_CHECKING:
    from simalloc.report.figures.picture import Picture

T = TypeVar("T")


@checked(events=optional(WINDOW), board_log=optional(PATH))
def draw_timelines(
    runs: Run | Sequence[Run],
    *,
    of: Quantity = "mapped",
    events: tuple[int, int] | None = None,
    board_log: str | PathLike[str] | None = None,
    theme: Theme = "light",
) -> Picture:
    """Draw the heaps of one trace under several policies over time, above the live bytes.

    Every peak is visible at any length of the trace. `board_log` adds the free bytes or the largest
    free block that a board reported. Its first report is drawn at the first event, and its last
    report at the last event. The other reports are drawn at their times, or evenly if not all
    reports have times.

    Parameters
    ----------
    runs : Run or sequence of Run
        Runs of one trace.
    of : {"mapped", "resident", "largest-free"}, default "mapped"
        Quantity to draw, in bytes. The runs must have measured it.
    events : tuple of int, optional
        First event of the window (from 0) and one past its last event. The default is all events.
    board_log : str or path, optional
        Text file with lines such as `I (1200) app: free heap: 24576, largest free block: 2312`.
        Requires `of="largest-free"`.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If `board_log` cannot be read or has no such line, or if matplotlib is not installed (extra
        `plot`).

    Examples
    --------
    >>> simalloc.draw_timelines(simalloc.simulate_all("gawk", ["first-fit-ao", "ptmalloc"]))
    """
    return _from("timelines", "draw_timelines")(
        _several(runs, Run, "draw_timelines"),
        of=quantity(of),
        events=events,
        reported=None if board_log is None else read_free_log(board_log),
        theme=theme,
    )


@checked(events=optional(WINDOW), addresses=optional(WINDOW), named=whole())
def draw_heap_maps(
    trace: Source,
    policies: AnyPolicy | Sequence[AnyPolicy],
    *,
    scale: int | None = None,
    realloc: Realloc | str = "free-first",
    events: tuple[int, int] | None = None,
    addresses: tuple[float, float] | None = None,
    named: int = 0,
    theme: Theme = "light",
    progress: bool | None = None,
) -> Picture:
    """Draw heap maps side by side: time across, addresses upwards, live objects coloured by age.

    If more than half of the peak live bytes are mapped apart from the heap, as under jemalloc, the
    map omits addresses that are never used. A map with `events`, `addresses` or `named` keeps all
    addresses and does not show memory that is mapped apart.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policies : str, Policy, class or sequence
        One or more policies, as for `simulate_all`.
    scale : int, optional
        Factor from 1 to 4096 for all sizes. By default each policy has its own: 16 or 1.
    realloc : {"free-first", "move", "in-place"}, default "free-first"
        Rule for realloc events.
    events : tuple of int, optional
        First event of the window (from 0) and one past its last event. The default is all events.
    addresses : tuple of float, optional
        Lower and upper address of the window in bytes of the program. The default is the whole
        heap.
    named : int, default 0
        Maximum number of objects to label among those that `pins` finds at each heap's peak.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If matplotlib is not installed (extra `plot`).
    TraceError, PolicyError
        If the trace or a policy does not exist.

    Examples
    --------
    >>> simalloc.draw_heap_maps("espresso", ["first-fit-ao", "binary-buddy"], named=3)
    """
    replayed = open_source(trace, progress=progress)
    runs = _runs(replayed, policies, scale, realloc, progress=progress)
    return _from("heap_map", "draw_heap_maps")(
        [_heap_map(replayed, run, events, addresses, named) for run in runs],
        [_title(run) for run in runs],
        pins=[pins(replayed, run, most=named) for run in runs] if named else (),
        theme=theme,
    )


def draw_device_maps(
    snapshot: Source,
    settings: str | Sequence[str] = ("",),
    *,
    capacity: int | str = 0,
    theme: Theme = "light",
) -> Picture:
    """Draw a device's memory over time, with one map for each setting of PyTorch's allocator.

    Each segment occupies the lowest rows that are unused during its lifetime. Live blocks are
    coloured by age. A map ends when the device is out of memory.

    Parameters
    ----------
    snapshot : Trace, TraceFile, str or path
        A trace of a device, or the path of a snapshot.
    settings : str or sequence of str, default ("",)
        Texts of PYTORCH_ALLOC_CONF; "" are PyTorch's defaults.
    capacity : int or str, default 0
        Memory of the device in bytes or as text such as `"24G"`; 0 is unlimited.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    PolicyError
        If PyTorch would reject a setting.
    TraceError
        If the snapshot cannot be read.
    SimallocError
        If matplotlib is not installed (extra `plot`).

    Examples
    --------
    >>> simalloc.draw_device_maps("snapshot.pickle", ["", "expandable_segments:True"])
    """
    trace = read_trace(snapshot)
    size = parse_size(capacity) if isinstance(capacity, str) else capacity
    texts = [settings] if isinstance(settings, str) else settings
    maps = [device_map(trace, text, size) for text in texts]
    return _from("device_map", "draw_device_maps")(maps, theme=theme)


@checked()
def draw_free_sizes(
    trace: Source,
    policies: AnyPolicy | Sequence[AnyPolicy],
    *,
    scale: int | None = None,
    realloc: Realloc | str = "free-first",
    theme: Theme = "light",
    progress: bool | None = None,
) -> Picture:
    """Draw the sizes of the free blocks over time, coloured by their total bytes.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policies : str, Policy, class or sequence
        One or more policies, as for `simulate_all`.
    scale : int, optional
        Factor from 1 to 4096 for all sizes. By default each policy has its own: 16 or 1.
    realloc : {"free-first", "move", "in-place"}, default "free-first"
        Rule for realloc events.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If matplotlib is not installed (extra `plot`).
    TraceError, PolicyError
        If the trace or a policy does not exist.

    Examples
    --------
    >>> simalloc.draw_free_sizes("espresso", "first-fit-ao")
    """
    replayed = open_source(trace, progress=progress)
    runs = _runs(replayed, policies, scale, realloc, progress=progress)
    return _from("free_sizes", "draw_free_sizes")(
        [free_sizes(replayed, run) for run in runs], [_title(run) for run in runs], theme=theme
    )


@checked()
def draw_lives(trace: Source, *, theme: Theme = "light", progress: bool | None = None) -> Picture:
    """Draw the sizes and lifetimes of a trace's objects, as cumulative shares.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If matplotlib is not installed (extra `plot`).
    TraceError
        If the trace does not exist or is invalid.

    Examples
    --------
    >>> simalloc.draw_lives("espresso")
    """
    source = open_source(trace, progress=progress)
    with any_progress(f"{source.name}: lives", len(source), shown=progress) as bar:
        return _from("lives", "draw_lives")(source, theme=theme, progress=bar)


@checked()
def draw_portrait(
    trace: Source, *, theme: Literal["light", "dark"] = "light", progress: bool | None = None
) -> Picture:
    """Draw a trace in one picture: live bytes over time, sizes, lifetimes, main figures.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If matplotlib is not installed (extra `plot`).
    TraceError
        If the trace does not exist or is invalid.

    Examples
    --------
    >>> simalloc.draw_portrait("espresso").savefig("espresso.png")
    """
    source = open_source(trace, progress=progress)
    with any_progress(source.name, 2.0, shown=progress) as bar:
        statistics = describe(source, progress=bar)
        return _from("portrait", "draw_portrait")(source, statistics, theme=theme, progress=bar)


def draw_visits(runs: Run | Sequence[Run], *, theme: Theme = "light") -> Picture:
    """Draw the number of free blocks that an allocation visits, mean and maximum.

    Parameters
    ----------
    runs : Run or sequence of Run
        Runs under one or more policies.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If matplotlib is not installed (extra `plot`).

    Examples
    --------
    >>> simalloc.draw_visits(simalloc.simulate_all("espresso", "best-fit-*"))
    """
    return _from("visits", "draw_visits")(_several(runs, Run, "draw_visits"), theme=theme)


def draw_threads(trace: Source, *, theme: Theme = "light") -> Picture:
    """Draw the live bytes of each thread's objects over time, and the lifetime of each thread.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If matplotlib is not installed (extra `plot`).
    TraceError
        If the trace does not exist or is invalid.

    Examples
    --------
    >>> simalloc.draw_threads("larson")
    """
    source = open_source(trace, progress=False)
    return _from("threads", "draw_threads")(source, theme=theme)


def draw_pages(runs: Run | Sequence[Run], *, theme: Theme = "light") -> Picture:
    """Draw the bytes of pages with at least one live byte.

    Parameters
    ----------
    runs : Run or sequence of Run
        Runs that were simulated with `occupied`.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If matplotlib is not installed (extra `plot`).

    Examples
    --------
    >>> simalloc.draw_pages(simalloc.simulate("espresso", "ptmalloc", occupied=[4096]))
    """
    return _from("pages", "draw_pages")(_several(runs, Run, "draw_pages"), theme=theme)


def draw_waste(wastes: Waste | Sequence[Waste], *, theme: Theme = "light") -> Picture:
    """Draw the bytes of heaps by kind, one stacked bar for each heap.

    Parameters
    ----------
    wastes : Waste or sequence of Waste
        Results of `waste`.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If matplotlib is not installed (extra `plot`).

    Examples
    --------
    >>> simalloc.draw_waste(simalloc.waste("espresso", "ptmalloc"))
    """
    return _from("waste", "draw_waste")(_several(wastes, Waste, "draw_waste"), theme=theme)


def draw_ranking(
    compared: Iterable[Run] | Results,
    measure: int | str = 4,
    *,
    of: Literal["mapped", "resident"] = "mapped",
    theme: Theme = "light",
) -> Picture:
    """Draw policies from best to worst by one measure: a dot for each trace, and the mean.

    With at least three traces the mean has a 95 % interval (bootstrap over the traces).

    Parameters
    ----------
    compared : iterable of Run, or Results
        Runs of the same traces under each policy, or the results of a sweep.
    measure : int or str, default 4
        Fragmentation measure #1 to #4.
    of : {"mapped", "resident"}, default "mapped"
        The bytes that the measure compares. The runs must have measured them.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If a run is missing, if `of` has another value, or if matplotlib is not installed (extra
        `plot`).

    Examples
    --------
    >>> simalloc.draw_ranking(simalloc.simulate_all(["espresso", "gawk"], "@johnstone-wilson"))
    """
    number = measure_number(measure)
    return _from("ranking", "draw_ranking")(
        _ranks(compared, number, of, "draw_ranking"), measure=number, of=of, theme=theme
    )


def draw_fragmentation(
    compared: Iterable[Run] | Results,
    measure: int | str = 4,
    *,
    of: Literal["mapped", "resident"] = "mapped",
    theme: Theme = "light",
) -> Picture:
    """Draw one measure in percent: a row for each policy, a column for each trace.

    Parameters
    ----------
    compared : iterable of Run, or Results
        Runs of the same traces under each policy, or the results of a sweep.
    measure : int or str, default 4
        Fragmentation measure #1 to #4.
    of : {"mapped", "resident"}, default "mapped"
        The bytes that the measure compares. The runs must have measured them.
    theme : {"light", "dark"}, default "light"
        Colours of the picture.

    Returns
    -------
    Picture
        A matplotlib figure. A notebook displays it, and `savefig` writes it to a file.

    Raises
    ------
    SimallocError
        If a run is missing, if `of` has another value, or if matplotlib is not installed (extra
        `plot`).

    Examples
    --------
    >>> runs = simalloc.simulate_all(["espresso", "gawk"], "best-fit-*")
    >>> simalloc.draw_fragmentation(runs, measure=3)
    """
    number = measure_number(measure)
    return _from("fragmentation", "draw_fragmentation")(
        _ranks(compared, number, of, "draw_fragmentation"), measure=number, of=of, theme=theme
    )


def _several(given: T | Iterable[T], kind: type[T], function: str) -> list[T]:
    """Return one item or several as a list. Raise `SimallocError` for items of another kind."""
    several: list[Any] = [given] if isinstance(given, kind) else _items(given)
    wrong = [each for each in several if not isinstance(each, kind)]
    if wrong or not several:
        found = kind_of(wrong if wrong and isinstance(given, (list, tuple)) else given)
        raise SimallocError(f"{function}() takes a {kind.__name__} or several, not {found}")
    return several


def _items(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []


def _from(module: str, name: str) -> Callable[..., Picture]:
    """Return the function that draws a figure. Its module is imported late: it needs matplotlib."""
    try:
        drawing: Callable[..., Picture] = getattr(
            import_module(f"simalloc.report.figures.{module}"), name
        )
    except ModuleNotFoundError as error:
        raise SimallocError("pictures need matplotlib: pip install 'simalloc[plot]'") from error
    return drawing


def _runs(
    trace: Source,
    policies: AnyPolicy | Sequence[AnyPolicy],
    scale: int | None,
    realloc: Realloc | str,
    *,
    progress: bool | None,
) -> list[Run]:
    return [
        simulate(trace, one, scale=scale, realloc=realloc, progress=progress)
        for one in expand_policies(policies)
    ]


def _heap_map(
    source: EventSource,
    run: Run,
    events: tuple[int, int] | None,
    addresses: tuple[float, float] | None,
    named: int,
) -> HeapMap:
    """Return a run's map, folded if most of its memory is mapped apart from the heap.

    A folded map has its own addresses, so it is not used with windows or labelled objects.
    """
    found = heap_map(source, run, events=events, addresses=addresses)
    if events or addresses or named or not is_mostly_apart(found.apart, run):
        return found
    return folded_map(source, run, columns=COLUMNS, rows=ROWS, named=0)[0]


def _title(run: Run) -> str:
    if not run.max_live_bytes:
        return spell(run.policy)
    return (
        f"{spell(run.policy)}: peak heap {run.peak_heap_bytes / run.max_live_bytes:.2f} × peak live"
    )


def _ranks(
    compared: Iterable[Run] | Results,
    measure: int,
    of: Literal["mapped", "resident"],
    function: str,
) -> list[Rank]:
    if of not in ("mapped", "resident"):
        raise SimallocError(f"fragmentation measures mapped or resident bytes, not {of!r}")
    if not isinstance(compared, Results):
        return ranking(_several(compared, Run, function), measure, of)
    pivot = compared.pivot(measure, of=of).complete()
    names = pivot.varying()
    return rank_values(
        {
            ", ".join(str(getattr(setting, name)) for name in names): dict(
                zip(pivot.labels(), row.tolist(), strict=True)
            )
            for setting, row in zip(pivot.settings, pivot.values, strict=True)
        }
    )
