"""Every figure draws its data and names its units."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from simalloc.errors import SimallocError, TraceError
from simalloc.heap import simulate
from simalloc.measure import free_sizes, heap_map, pins, ranking
from simalloc.measure.ranking import Rank
from simalloc.report.figures.axes import bytes_axis
from simalloc.report.figures.fragmentation import draw_fragmentation
from simalloc.report.figures.free_sizes import draw_free_sizes
from simalloc.report.figures.heap_map import age_colours, age_norm, draw_heap_maps, heap_pixels
from simalloc.report.figures.lives import draw_lives
from simalloc.report.figures.pages import draw_pages
from simalloc.report.figures.portrait import draw_portrait
from simalloc.report.figures.portrait_live import BOUNDS
from simalloc.report.figures.ranking import draw_ranking
from simalloc.report.figures.style import new_figure, new_figure_of_rows
from simalloc.report.figures.threads import draw_threads
from simalloc.report.figures.timelines import draw_timelines
from simalloc.report.figures.titles import row_names
from simalloc.report.figures.visits import draw_visits
from simalloc.report.palettes import PALETTES, age_shades
from simalloc.report.units import spell_events
from simalloc.sizes import spell_bytes
from simalloc.trace import Op, Trace

THEME = "dark"
"""Theme other than the default, because no other test draws its colours."""
POLICIES = ("first-fit-lifo", "first-fit-ao", "simple-seg-2n")


def made(seed):
    random = np.random.default_rng(seed)
    count = 400
    order = random.permutation(count)
    op = np.repeat([Op.MALLOC, Op.FREE], count)
    sizes = np.r_[random.integers(1, 5000, count), order * 0]
    return Trace.from_events(op, np.r_[np.arange(count), order], sizes, name=f"made-{seed}")


TRACES = [made(seed) for seed in range(4)]
RUNS = [simulate(trace, name, addresses=True) for trace in TRACES for name in POLICIES]


def small_map(trace, run):
    return heap_map(trace, run, columns=150, rows=80)


def texts(figure):
    """Return all text in a figure."""
    figure.draw_without_rendering()
    return "\n".join(
        text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))
    )


def test_heaps_over_time():
    written = texts(draw_timelines(RUNS[:3], theme=THEME))
    for name in (*POLICIES, "live bytes", "time (events)", "MiB"):
        assert name in written


def test_extremes_survive():
    random = np.random.default_rng(0)
    sizes = random.integers(1, 50, 50_000)
    sizes[31_234] = 1_000_000  # one event in a hundred thousand
    numbers = np.arange(50_000).repeat(2)
    trace = Trace.from_events(np.tile([Op.MALLOC, Op.FREE], 50_000), numbers, sizes.repeat(2))
    axes = draw_timelines([simulate(trace, "first-fit-ao")]).axes[0]
    assert max(axes.lines[0].get_ydata()) == 1_000_000
    assert axes.collections[0].get_paths()[0].vertices[:, 1].max() == 1_000_000


def test_heaps_of_several_traces_are_refused():
    with pytest.raises(SimallocError, match="one trace"):
        draw_timelines([RUNS[0], RUNS[3]])


def test_heap_maps():
    maps = [small_map(TRACES[0], run) for run in RUNS[:2]]
    pinned = [pins(TRACES[0], run, most=3) for run in RUNS[:2]]
    written = texts(draw_heap_maps(maps, POLICIES[:2], pins=pinned, theme=THEME))
    for name in (*POLICIES[:2], "address", "time (events)", "live, by age (events)", "free", "3"):
        assert name in written


def test_a_heap_map_says_what_it_has_no_place_for():
    trace = Trace.from_events([Op.MALLOC] * 2, [0, 1], [100, 1 << 20])
    shown = small_map(trace, simulate(trace, "dlmalloc-2.8.6"))
    note = "not shown: up to 1 MiB mapped apart"
    assert f"dlmalloc\n{note}" in texts(draw_heap_maps([shown], ["dlmalloc"]))
    assert note in texts(draw_heap_maps([shown], [""], soon=True))
    other = small_map(trace, simulate(trace, "first-fit-ao"))
    assert "first-fit-ao" in texts(draw_heap_maps([shown, other], ["dlmalloc", "first-fit-ao"]))


def test_long_names_of_rows_take_several_lines():
    name = "mine.py:ThresholdWorstFitOfPages:threshold=64K,growth=64K"
    (wrapped,) = row_names([name])
    assert wrapped == "mine.py:ThresholdWorstFitOfPages:\nthreshold=64K,growth=64K"
    one, two = (new_figure_of_rows([each] * 3).get_size_inches()[1] for each in ("fit", wrapped))
    assert two == pytest.approx(one + 3 * 0.2)


def test_marks_of_a_wide_range_are_powers_of_ten():
    figure = draw_ranking([Rank("fit", share, None, None, {"a": share}) for share in (0.01, 30.0)])
    marks = figure.axes[0].get_xticks().tolist()
    assert marks == [0, 0.01, 0.1, 1, 10, 100, 1000]
    assert "a trace" not in texts(figure), "the mean of one trace is the trace"


def test_headings_are_as_narrow_as_their_maps():
    heading = "first-fit-lifo: peak heap 2.10 × peak live"
    shown = small_map(TRACES[0], RUNS[0])
    assert heading in texts(draw_heap_maps([shown] * 2, [heading] * 2))
    wrapped = "first-fit-lifo: peak heap\n2.10 × peak live"
    for soon in (False, True):
        assert wrapped in texts(draw_heap_maps([shown] * 3, [heading] * 3, soon=soon))


@pytest.mark.parametrize("panels", [1, 2, 3, 4])
def test_titles_of_long_policies_stay_above_their_panels(panels):
    name = "mine.py:ThresholdWorstFit:threshold=64K,growth=64K,coalescing=deferred"
    shown = small_map(TRACES[0], RUNS[0])
    figure = draw_heap_maps([shown] * panels, [f"{name}: peak heap 2.10 × peak live"] * panels)
    figure.draw_without_rendering()
    axes = figure.axes[:panels]
    ends = [each.title.get_window_extent().x1 for each in axes]
    starts = [each.title.get_window_extent().x0 for each in axes[1:]]
    assert all(end < start for end, start in zip(ends[:-1], starts, strict=True))
    assert ends[-1] < figure.bbox.width


def test_the_key_of_a_heap_map_covers_none_of_the_heap():
    trace = TRACES[0]
    steep = small_map(trace, simulate(trace, "first-fit-ao:growth=16M"))
    figure = draw_heap_maps([steep], ["all at once"])
    figure.draw_without_rendering()
    axes = figure.axes[0]
    key = axes.get_legend().get_window_extent()
    top = axes.transData.transform((0, float(steep.heap.max())))[1]
    assert key.y0 > top


def test_the_key_of_visits_is_above_the_rows():
    figure = draw_visits(RUNS)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1


def test_what_is_free_has_the_colour_of_free_and_above_the_heap_there_is_nothing():
    shown = small_map(TRACES[0], RUNS[0])
    palette = PALETTES["light"]
    pixels = heap_pixels(shown, palette, age_norm([shown]))
    rows = shown.lowest_address + shown.cell_bytes * (np.arange(len(shown.live)) + 0.5)
    inside = rows[:, None] < shown.heap
    np.testing.assert_array_equal(pixels[..., 3], 255 * inside)
    free = np.round(255 * np.array(to_rgb(palette.free))).astype(np.uint8)
    assert (pixels[(shown.live == 0) & inside][:, :3] == free).all()
    full = pixels[(shown.live == 1) & inside][:, :3]
    assert len(full)
    assert (full != free).any(axis=1).all()


def test_tables_and_rankings():
    ranks = ranking(RUNS)
    for figure in (draw_ranking(ranks, theme=THEME), draw_fragmentation(ranks, theme=THEME)):
        written = texts(figure)
        assert "peak heap / peak live − 1" in written
        assert all(name in written for name in POLICIES)
    assert "made-3" in texts(draw_fragmentation(ranks, theme=THEME))
    assert "worst" in texts(draw_visits(RUNS, theme=THEME))


def test_free_blocks_and_lives():
    free = [free_sizes(TRACES[0], run) for run in RUNS[:2]]
    assert "size of a free block" in texts(draw_free_sizes(free, POLICIES[:2], theme=THEME))
    assert "lifetime at most (bytes allocated meanwhile)" in texts(
        draw_lives(TRACES[0], theme=THEME)
    )


@pytest.mark.parametrize("palette", PALETTES.values())
def test_ages_have_the_colours_of_plasma(palette):
    expected = age_colours(palette)(np.arange(256))[:, :3]
    shown = [to_rgb(shade) for shade in age_shades(palette, 256)]
    np.testing.assert_allclose(shown, expected, atol=0.025)


def test_portraits():
    written = texts(draw_portrait(TRACES[0], theme=THEME))
    for words in ("made-0", "peak", "below 64 B", "size (bytes requested)", "99.9 %", "reallocs"):
        assert words in written
    assert "never" not in written.replace("never freed, of", "")


def test_a_portrait_stacks_what_is_live_up_to_its_peak():
    axes = draw_portrait(TRACES[0]).axes[0]
    tops = [float(area.get_paths()[0].vertices[:, 1].max()) for area in axes.collections]
    assert len(tops) == sum(np.bincount(np.searchsorted(BOUNDS, TRACES[0].size[:400], "right")) > 0)
    assert tops[-1] == TRACES[0].size.sum()
    assert sorted(tops) == tops


def test_a_portrait_shows_what_is_never_freed_and_threads():
    op, number, size = [Op.MALLOC, Op.MALLOC, Op.REALLOC, Op.FREE], [0, 1, 0, 0], [24, 9, 48, 0]
    trace = Trace.from_events(op, number, size, thread=[0, 0, 1, 0], name="tiny")
    written = texts(draw_portrait(trace))
    for words in ("never\nfreed", "that grow", "100 %", "threads", "peak 57 B"):
        assert words in written


@pytest.mark.parametrize("draw", [draw_portrait, draw_lives])
def test_there_is_no_picture_of_an_empty_trace(draw):
    with pytest.raises(TraceError, match="no events to draw"):
        draw(Trace.from_events([], [], [], name="empty"))


@pytest.mark.parametrize("draw", [draw_ranking, draw_fragmentation, draw_visits])
def test_there_is_no_picture_of_no_runs(draw):
    with pytest.raises(SimallocError, match="at least one run to draw"):
        draw([])


def test_pages_are_bars_as_long_as_their_peaks():
    sizes = 4096, 1 << 16
    runs = [simulate(TRACES[0], name, occupied=sizes) for name in POLICIES]
    axes = draw_pages(runs, theme=THEME).axes[0]
    widths = sorted(bar.get_width() for bar in axes.patches)
    assert widths == sorted(run.occupied[size].peak_bytes for run in runs for size in sizes)
    written = texts(axes.figure)
    for words in (*POLICIES, "pages of 4K", "pages of 64K", "peak live"):
        assert words in written


def test_threads_are_stacked_up_to_what_is_live_and_have_a_line_each():
    op, number, size = [Op.MALLOC, Op.MALLOC, Op.FREE], [0, 1, 0], [100, 50, 0]
    trace = Trace.from_events(op, number, size, thread=[0, 1, 1], name="two")
    above, below = draw_threads(trace, theme=THEME).axes
    tops = [float(area.get_paths()[0].vertices[:, 1].max()) for area in above.collections]
    assert tops == [100, 150]
    lines = [line.get_segments()[0][:, 0].tolist() for line in below.collections]
    assert lines == [[0, 1], [1, 3]]
    assert "thread 1" in texts(above.figure)


def test_threads_that_are_not_told_are_not_drawn():
    with pytest.raises(TraceError, match="threads"):
        draw_threads(TRACES[0])


def test_pages_that_nobody_looked_at_are_not_drawn():
    with pytest.raises(SimallocError, match="occupied"):
        draw_pages(RUNS)


def test_figures_of_a_trace_in_which_nothing_happens():
    nothing = Trace.from_events([Op.MALLOC, Op.FREE], [0, 0], [0, 0])
    run = simulate(nothing, "best-fit-ao", addresses=True)
    for figure in (
        draw_heap_maps([small_map(nothing, run)], ["nothing"]),
        draw_timelines([run]),
        draw_lives(nothing),
        draw_portrait(nothing),
        draw_portrait(nothing.prefix(1)),
        draw_visits([run]),
        draw_free_sizes([free_sizes(nothing, run)], ["nothing"]),
    ):
        figure.draw_without_rendering()


def test_bytes_are_spelled():
    sizes = {0: "0", 1: "1 B", 1023: "1,023 B", 1536: "1.5 KiB", 1 << 20: "1 MiB", 3 << 30: "3 GiB",
             1 << 47: "128 TiB", 1 << 62: "4 EiB"}  # fmt: skip
    assert {size: spell_bytes(size) for size in sizes} == sizes


@pytest.mark.parametrize("top", [0, 1, 1000, 10**13, 1 << 47, 1 << 57, 1 << 62])
def test_an_axis_of_bytes_has_a_few_marks(top):
    axis = new_figure(1.0).add_subplot().yaxis
    bytes_axis(axis, top)
    assert len(axis.get_major_locator().tick_values(0, top)) <= 10


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (999, "999"), (1500, "1.5 k"), (2.5e6, "2.5 M")]
)
def test_events_are_spelled(count, text):
    assert spell_events(count) == text


def luminance(colour):
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)


@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
def test_colours_stand_out_from_the_paper(palette):
    """WCAG 2 requires a contrast of 4.5 to 1 for text; lines have about 2 to 1."""
    paper = luminance(palette.paper)
    for colour, least in ((palette.ink, 4.5), *((line, 1.9) for line in palette.lines)):
        lighter, darker = sorted((luminance(colour), paper), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) > least, colour
