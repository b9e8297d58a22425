"""Progress bars: the conditions under which they are shown, and their texts."""

import io
import sys
import time

import click
import pytest

import simalloc
from simalloc import progress
from simalloc.cli.progress import progress as of_command
from simalloc.errors import SimallocError


class Shown:
    """A display that stores the states that it was given."""

    def __init__(self):
        self.seen = []
        self.closed = False

    def show(self, bar):
        assert not self.closed
        self.seen.append((bar.label, bar.done, bar.total, bar.text))

    def close(self):
        self.closed = True


@pytest.fixture
def shown(monkeypatch):
    display = Shown()
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(progress, "_PAUSE", -1.0)
    monkeypatch.setattr(progress, "_display", lambda: display)
    monkeypatch.setattr(progress, "place", lambda: "terminal")
    return display


def test_a_bar_adds_up_and_is_taken_away(shown):
    with progress.progress("work", 3, shown=True) as bar:
        bar(1)
        bar.text = "more"
        bar(2)
    bar(5)
    assert shown.seen == [("work", 1, 3, ""), ("work", 3, 3, "more")]
    assert shown.closed


def test_a_bar_is_taken_away_when_the_work_fails(shown):
    def work():
        with progress.progress("work", 3, shown=True) as bar:
            bar(1)
            raise SimallocError("broken")

    with pytest.raises(SimallocError, match="broken"):
        work()
    assert shown.closed


def test_where_there_is_no_terminal_lines_are_written_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LINES", -1.0)
    with progress.progress("work", 4, shown=True) as bar:
        bar(1)
        bar.text = "more"
        bar(1)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("simalloc: work, 25 %, 0:00:0")
    assert second.startswith("simalloc: work, 50 %, more, 0:00:0")


def test_short_work_shows_nothing(shown, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with progress.progress("work", 3, shown=True) as bar:
        bar(3)
    assert shown.seen == []


def test_what_follows_other_work_is_shown_when_nothing_was_for_long(shown, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    for ago in (59.0, 61.0):
        with progress.progress("work", 3, shown=True, seen=time.monotonic() - ago) as bar:
            bar(3)
        assert len(shown.seen) == (ago > progress.PATIENCE)


def test_commands_count_from_what_they_last_showed_and_scripts_from_each_start(shown, monkeypatch):
    def work():
        for _ in range(2):
            with of_command("work", 3) as bar:
                bar.seen -= 61.0
                bar(3)

    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    work()
    assert shown.seen == []
    with click.Context(click.Command("anything")):
        work()
    assert len(shown.seen) == 1


def test_scripts_are_quiet_unless_asked(shown):
    trace = simalloc.workload("hyper")
    for work in (
        lambda progress: simalloc.simulate(trace, "first-fit-ao", progress=progress),
        lambda progress: simalloc.simulate_all(trace, "first-fit-*", progress=progress),
        lambda progress: simalloc.run_sweep(trace, "first-fit-ao", progress=progress),
        lambda progress: simalloc.read_trace("p2c", progress=progress),
        lambda progress: simalloc.record("ls /", progress=progress),
    ):
        shown.closed, shown.seen = False, []
        work(progress=None)
        assert shown.seen == []
        work(progress=True)
        assert shown.seen
        done, total = shown.seen[-1][1:3]
        assert total is None or done == pytest.approx(total)


def test_terminals_get_a_line_on_stderr(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    stderr = io.StringIO()
    stderr.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress("the work", 3, shown=True) as bar:
        bar(1)
    assert "the work" in stderr.getvalue()
    assert "33%" in stderr.getvalue()
