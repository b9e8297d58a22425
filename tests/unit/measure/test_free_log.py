"""Logs of free bytes: the usual lines of boards, and the positions of reports in a picture."""

from pathlib import Path

import pytest

import simalloc
from simalloc.errors import SimallocError
from simalloc.measure.free_log import NOT_REPORTED, read_free_log

ESP_IDF = """I (120) boot: app start
I (300) app: free heap: 61000, largest free block: 60000
I (3000) app: free heap: 30000, largest free block: 21000, min free: 25000
I (5700) app: free heap: 24576, largest free block: 2312
"""


def log(folder: Path, text: str) -> Path:
    path = folder / "board.log"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("line", "free", "largest"),
    [
        ("[00:00:12.345,678] <inf> heap: free bytes: 123, largest block 45", 123, 45),
        ("Heap: 24576 bytes free", 24576, NOT_REPORTED),
        ("free 100 allocated 20 min_free 5 largest_free_block 60", 100, 60),
        ("used: 3456 (12 %), frag: 5 %, biggest free: 7890", NOT_REPORTED, 7890),
        ("xPortGetFreeHeapSize() = 1234", 1234, NOT_REPORTED),
        ("free=24576 max alloc=2312", 24576, 2312),
    ],
)
def test_usual_lines(line: str, free: int, largest: int, tmp_path: Path) -> None:
    found = read_free_log(log(tmp_path, f"started\n{line}\n"))
    assert (found.free.tolist(), found.largest.tolist()) == ([free], [largest])


def test_reports_are_placed_by_their_times(tmp_path: Path) -> None:
    assert read_free_log(log(tmp_path, ESP_IDF)).share.tolist() == [0, 0.5, 1]


def test_reports_without_times_are_placed_evenly(tmp_path: Path) -> None:
    text = "free heap: 9\n" * 4 + "I (7) free heap: 8\n"
    assert read_free_log(log(tmp_path, text)).share.tolist() == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize("text", ["", "min free heap: 5\n", "free: much\n", "\0" * 100_000])
def test_a_log_without_reports(text: str, tmp_path: Path) -> None:
    with pytest.raises(SimallocError, match="has no line with free bytes"):
        read_free_log(log(tmp_path, text))


def test_a_log_is_drawn_beside_a_model(tmp_path: Path) -> None:
    path = log(tmp_path, ESP_IDF)
    runs = simalloc.simulate_all("cfrac", ["first-fit-ao:capacity=64K"], largest_free=True)
    axes = simalloc.draw_timelines(runs, of="largest-free", board_log=path).axes[0]
    points = {line.get_label(): line for line in axes.lines}
    largest = points["largest free block, board"]
    assert largest.get_ydata().tolist() == [60000, 21000, 2312]
    assert largest.get_xdata().tolist() == [0, runs[0].events / 2, runs[0].events]
    with pytest.raises(SimallocError, match='only with of="largest-free"'):
        simalloc.draw_timelines(runs, board_log=path)
    with pytest.raises(SimallocError, match=r"missing\.log cannot be read"):
        simalloc.draw_timelines(runs, of="largest-free", board_log=tmp_path / "missing.log")
