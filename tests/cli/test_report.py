"""`simalloc report`: a self-contained page, viewed and used in Chromium."""

import html
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from command import simalloc
from patience import wait_until

from simalloc.advice import advise, candidates, recorded, settings_of
from simalloc.heap import simulate_all
from simalloc.policy import expand_policies
from simalloc.report.page import find_out
from simalloc.report.page import page as page_of
from simalloc.report.page.findings import _dealt as dealt
from simalloc.trace import Trace, open_trace, write_trace
from simalloc.trace.catalogue import load

MAX_BYTES = 5_000_000


def report(*arguments, **options):
    return simalloc("report", *arguments, **options)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page on the first events of Ghostscript under three policies."""
    folder = tmp_path_factory.mktemp("report")
    trace = folder / "start.npz"
    write_trace(load("ghostscript").prefix(60_000), trace)
    output = folder / "page.html"
    done = report(trace, "-p", "first-fit-fifo:growth=64K", "-o", output, "--no-native")
    assert done.exit_code == 0, done.stderr
    return output


def test_the_page_answers_the_question(page):
    text = page.read_text("utf-8")
    assert len(text.encode()) < MAX_BYTES
    for part in ("<strong>No change recommended:</strong> ", "has the smallest heap",
                 "Memory over time", "Every malloc and setting", "What pins the heap",
                 "Reproduce this page", "first-fit-fifo:growth=64K", "dlmalloc-2.8.6",
                 "SHA-256"):  # fmt: skip
        assert part in text
    assert "ptmalloc:" not in text.partition("Where the bytes are")[2].partition("<h3>")[0]
    reasons = text.partition('<ul class="reasons">')[2].partition("</ul>")[0]
    assert "resident memory peaks at " in reasons
    assert reasons.count("<li>") == reasons.count("</li>") >= 2
    assert text.count("<canvas tabindex") == 2
    assert not re.search(r"\$\w", text), "every placeholder is filled"


@pytest.fixture(scope="module")
def device_page(tmp_path_factory):
    """A page on a device's memory: phases of large blocks, with small blocks that remain."""
    folder = tmp_path_factory.mktemp("device")
    events = []
    for phase in range(12):
        keys = [f"{phase}-{block}" for block in range(20)]
        sizes = [(phase + 2) * 1_500_000] * 20
        events += [("m", key, size) for key, size in zip(keys, sizes, strict=True)]
        events.append(("m", f"{phase}-stays", 2_000_000))
        events += [("f", key, "") for key in keys]
    text = folder / "steps.txt"
    numbers = {key: place for place, (_, key, _) in enumerate(events)}
    lines = [f"{op} {numbers[key]} {size}".strip() for op, key, size in events]
    text.write_text("\n".join([*lines, "e"]) + "\n")
    output = folder / "page.html"
    done = report(text, "--capacity", "1G", "--settings", "max_split_size_mb:21", "-o", output)
    assert done.exit_code == 0, done.stderr
    return output


def test_a_device_page_says_what_would_have_fitted(device_page):
    text = device_page.read_text("utf-8")
    for part in ("MiB is sufficient with these settings:", "max_split_size_mb:21", "fits 1 GiB",
                 "Half-empty segments", "freed last", "--capacity 1073741824"):  # fmt: skip
        assert part in text
    assert not re.search(r"\$\w", text), "every placeholder is filled"


def test_a_device_page_can_be_read_with_a_pointer(device_page, browser):
    browser.open(device_page, 1200, 900)
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= 1200, "nothing sticks out"
    read = """((event, address) => {
        const map = document.querySelector(".map").heapMap;
        map.pointed({ event, address });
        return map.under.textContent;
    })"""
    assert "Segment of 20 MiB, reserved at event 0. Object 0: 3,000,000 bytes" in browser.evaluate(
        f"{read}(10, 1000)"
    )
    assert "above the heap" in browser.evaluate(f"{read}(0, 1e8)")


def test_what_is_mapped_apart_is_on_the_map(tmp_path):
    (tmp_path / "large.txt").write_text("m 0 100\nm 1 1048576\n")
    output = tmp_path / "page.html"
    done = report(tmp_path / "large.txt", "-p", "ptmalloc", "--no-native", "-o", output)
    assert done.exit_code == 0, done.stderr
    text = output.read_text("utf-8")
    captions = dict(re.findall(r"<figcaption><strong>(.*?)</strong>(.*?)</figcaption>", text))
    caption = " (chosen): peak 1.13 MiB mapped, 13.3\N{NO-BREAK SPACE}% more than peak live"
    assert captions["ptmalloc"] == caption
    assert "not shown" not in text
    shown = json.loads(re.findall(r'id="trace-0-map-0">(.*?)</script>', text)[0])
    assert 1 << 20 < shown["top"] < 1.2 * (1 << 20)


def test_a_long_trace_is_read_piece_by_piece(tmp_path, monkeypatch):
    """A long trace gets a few policies at a time, no best possible heap and no real allocators."""
    for module in ("findings", "sections"):
        monkeypatch.setattr(f"simalloc.report.page.{module}.SHORT_EVENTS", 100)
    monkeypatch.setattr("simalloc.report.page.findings._ROOM", 5 * 64 * 100)
    trace = load("make").prefix(1000)
    write_trace(trace, tmp_path / "start.npz")
    found = find_out(open_trace(tmp_path / "start.npz"), given="start.npz")
    assert found.possible is None
    together = simulate_all(trace, [run.policy for run in found.runs])
    assert [run.peak_heap_bytes for run in found.runs] == [run.peak_heap_bytes for run in together]
    text = page_of([found], "simalloc report start.npz").decode()
    ranking = text.split("Placement policies</h3>")[1].split("<h3>")[0]
    assert "The best possible heap and policies" in ranking
    assert "known in advance" not in ranking


def test_a_page_and_the_command_for_settings_have_one_verdict(tmp_path, monkeypatch):
    write_trace(load("make").prefix(1000), tmp_path / "start.npz")
    source = open_trace(tmp_path / "start.npz")
    process = recorded(source.provenance)
    monkeypatch.setattr("simalloc.report.page.findings.SHORT_EVENTS", 100)
    found = find_out(source, given="start.npz")
    advice = advise(source, settings_of(source, candidates()), process)
    assert found.advice.sentences == advice.sentences


def test_no_two_that_never_merge_blocks_replay_a_long_trace_at_once(monkeypatch):
    policies = expand_policies(["all"])
    trace = load("make").prefix(1000)
    monkeypatch.setattr("simalloc.report.page.findings._ROOM", 1 << 40)
    assert dealt(trace, policies) == [list(policies)]
    monkeypatch.setattr("simalloc.report.page.findings.WHOLE_EVENTS", 100)
    hands = dealt(trace, policies)
    assert sorted(policy.name for hand in hands for policy in hand) == sorted(
        policy.name for policy in policies
    )
    for hand in hands:
        assert len({"sqf-ff", "sqf-bf", "sgf-ff", "sgf-bf"} & {each.name for each in hand}) <= 1


def test_what_a_long_trace_goes_without_is_said(tmp_path, monkeypatch):
    for module in ("page", "page.findings", "page.sections"):
        monkeypatch.setattr(f"simalloc.report.{module}.SHORT_EVENTS", 100)
    monkeypatch.setattr("simalloc.cli.run._LONG", 100)
    write_trace(load("make").prefix(1000), tmp_path / "start.npz")
    given = str(tmp_path / "start.npz")
    result = report(given, "-p", "abt-ff", "-o", f"{given}.html")
    assert result.exit_code == 0
    assert "The page omits real allocators" in result.stderr
    text = (tmp_path / "start.npz.html").read_text("utf-8")
    assert "abt-ff</th>" in text
    assert "abt-bf</th>" not in text
    result = simalloc("run", given, "-p", "best-possible")
    assert "takes all of make into memory, about 161 KiB" in result.stderr


def test_the_code_on_the_page_runs(page, tmp_path):
    code = html.unescape(
        page.read_text("utf-8")
        .split("the objects that pin the heap:</p>\n<pre>")[1]
        .split("</pre>")[0]
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == {"maps.png", "heaps.png", "lives.png"}


def test_the_page_refers_to_nothing_outside_it(page):
    text = page.read_text("utf-8")
    outside = set(re.findall(r"(?:https?:)?//[\w.]+\.\w+[\w/.]*", text))
    assert outside <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "default-src 'none'" in text


@pytest.mark.parametrize(("width", "height", "dark"), [(1200, 900, False), (1200, 900, True),
                                                 (390, 844, False)])  # fmt: skip
def test_it_renders_without_a_word_of_complaint(page, browser, width, height, dark):
    browser.open(page, width, height, dark=dark)
    assert browser.complaints() == []
    assert {url.partition(":")[0] for url in browser.requests()} <= {"file", "data"}
    assert browser.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    painted = """(() => {
        const canvas = document.querySelector(".map canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const colours = new Set();
        for (let i = 0; i < data.length; i += 4)
            colours.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
        return colours.size;
    })()"""
    assert browser.evaluate(painted) > 50
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(20, 23, 28)" if dark else "rgb(255, 255, 255)")


def middle_of_the_map(browser):
    browser.evaluate("document.querySelector('.map canvas').scrollIntoView({block: 'center'})")
    return browser.evaluate("""(() => {
        const box = document.querySelector(".map canvas").getBoundingClientRect();
        return [box.left, box.top, box.width, box.height];
    })()""")


def view(browser):
    return browser.evaluate("document.querySelector('.map').heapMap.view")


def test_the_pointer_reads_the_map(page, browser):
    browser.open(page, 1200, 900)
    left, top, width, height = middle_of_the_map(browser)
    browser.mouse("mouseMoved", left + 0.7 * width, top + height - 40)
    said = browser.evaluate("document.querySelector('.under').textContent")
    assert re.match(r"Event [\d,]+, address [\d.]+ (B|KiB): .* live, allocated ", said)
    assert re.search(r"Object [\d,]+: [\d,]+ bytes at .*, from event [\d,]+ to ", said)
    browser.mouse("mouseMoved", left + 0.3 * width, top + 12)
    assert "above the heap" in browser.evaluate("document.querySelector('.under').textContent")


def test_what_is_named_is_what_the_trace_has(page, browser):
    browser.open(page, 1200, 900)
    stays = browser.evaluate("document.querySelector('.map').heapMap.data.stays")
    trace = load("ghostscript").prefix(60_000)
    for number, size, since in list(zip(stays[0], stays[2], stays[3], strict=True))[:50]:
        assert (trace.object[since], trace.size[since]) == (number, size)


def test_dragging_zooms_in_and_a_double_click_zooms_out(page, browser):
    browser.open(page, 1200, 900)
    whole = view(browser)
    left, top, width, height = middle_of_the_map(browser)
    browser.mouse("mousePressed", left + 0.4 * width, top + 0.5 * height, clickCount=1)
    browser.mouse("mouseMoved", left + 0.6 * width, top + 0.8 * height, buttons=1)
    browser.mouse("mouseReleased", left + 0.6 * width, top + 0.8 * height, clickCount=1)
    part = view(browser)
    assert whole["left"] < part["left"] < part["right"] < whole["right"]
    assert whole["low"] < part["low"] < part["high"] < whole["high"]
    for clicks in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            browser.mouse(kind, left + width / 2, top + height / 2, clickCount=clicks)
    assert view(browser) == whole
    assert browser.complaints() == []


def test_two_fingers_zoom_and_keep_what_they_hold(page, browser):
    browser.open(page, 390, 844)
    whole = view(browser)
    left, top, width, height = middle_of_the_map(browser)
    x, y = left + 0.7 * width, top + 0.6 * height
    before = browser.evaluate(f"document.querySelector('.map').heapMap.at({x - left}, {y - top})")

    def touch(kind, apart):
        points = [{"x": x + way * apart / 2, "y": y} for way in (-1, 1)] if apart else []
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    for kind, apart in [("touchStart", 40), ("touchMove", 80), ("touchMove", 120), ("touchEnd", 0)]:
        touch(kind, apart)
    part = view(browser)
    assert part["right"] - part["left"] == pytest.approx((whole["right"] - whole["left"]) / 3)
    assert part["high"] - part["low"] == pytest.approx((whole["high"] - whole["low"]) / 3)
    after = browser.evaluate(f"document.querySelector('.map').heapMap.at({x - left}, {y - top})")
    assert after == pytest.approx(before)
    for kind, apart in [("touchStart", 120), ("touchMove", 10), ("touchEnd", 0)]:
        touch(kind, apart)
    assert view(browser) == whole
    assert browser.complaints() == []


def test_buttons_and_keys_zoom_and_stay_within_the_map(page, browser):
    browser.open(page, 390, 844)
    whole = view(browser)
    for _ in range(60):
        browser.evaluate("document.querySelector('[data-do=in]').click()")
    deepest = view(browser)
    assert deepest["right"] - deepest["left"] == pytest.approx(8)
    press = ("document.querySelector('.map canvas')"
             ".dispatchEvent(new KeyboardEvent('keydown', {key: '%s'}))")  # fmt: skip
    for key in ("ArrowLeft", "ArrowDown") * 60 + ("-",) * 60:
        browser.evaluate(press % key)
    assert view(browser) == whole
    assert browser.complaints() == []


def test_the_wheel_zooms_about_the_pointer_and_no_two_ticks_are_alike(page, browser):
    browser.open(page, 1200, 900)
    left, top, width, height = middle_of_the_map(browser)
    x, y = 0.3 * width, 0.7 * height
    look = f"document.querySelector('.map').heapMap.at({x}, {y})"
    before = browser.evaluate(look)
    for _ in range(6):
        browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=left + x, y=top + y,
                 deltaX=0, deltaY=-100, modifiers=2)  # fmt: skip
    after = browser.evaluate(look)
    assert after == pytest.approx(before, rel=5e-3)
    labels = browser.evaluate(
        "(({ view }) => { const up = ticks(view.low, view.high, 7, true);"
        " return up.map((value) => bytes(value, up[1] - up[0])); })"
        "(document.querySelector('.map').heapMap)"
    )
    assert len(labels) == len(set(labels)) > 2
    assert browser.complaints() == []


def test_two_traces_of_one_name_are_told_apart_and_one_given_twice_is_one(tmp_path):
    for folder, name in (("a", "make"), ("b", "cfrac")):
        (tmp_path / folder).mkdir()
        write_trace(replace(load(name).prefix(1_000), name="t"), tmp_path / folder / "t.npz")
    output = tmp_path / "page.html"
    done = report("a/t.npz", "b/t.npz", "./a/t.npz", "--no-native", "-o", output, cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    text = output.read_text("utf-8")
    assert "Placement policies on all traces" in text
    assert re.findall('<a href="#trace-[0-9]">(.*?)</a>', text) == ["t", "t (2)"]


def test_a_page_lies_beside_its_trace_and_names_it_as_it_was_given(tmp_path):
    write_trace(load("make").prefix(1_000), tmp_path / "mine.npz")
    done = report("mine.npz", "--no-native", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "mine.html" in done.stderr
    text = html.unescape((tmp_path / "mine.html").read_text("utf-8"))
    for part in (
        "simalloc settings mine.npz",
        "simalloc run mine.npz",
        "simalloc info mine.npz",
        "read_trace('mine.npz')",
    ):
        assert part in text


@pytest.mark.parametrize(("arguments", "complaint"), [
    (["no-such-trace"], "neither a file nor a trace"),
    (["make", "-p", "worst-fit"], "unknown policy 'worst-fit'"),
    (["make", "--scale", "0"], "scale is 0"),
])  # fmt: skip
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, arguments, complaint):
    done = report(*arguments, "--no-native", "-o", tmp_path / "page.html")
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_trace_without_events_has_nothing_to_report(tmp_path):
    write_trace(Trace.from_events([], [], []), tmp_path / "empty.npz")
    done = report(tmp_path / "empty.npz", "-o", tmp_path / "page.html", "--no-native")
    assert done.exit_code == 2
    assert "has no events" in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_all_that_is_on_the_page_is_on_paper(page, browser):
    browser.open(page, 1000, 900)
    drawn = "document.querySelectorAll('.printed.still').length === 0"
    wait_until(lambda: browser.evaluate(drawn))
    browser.call("Emulation.setEmulatedMedia", media="print")
    shown = "[...document.querySelectorAll('.map')].map((map) => getComputedStyle(map.querySelector"
    assert browser.evaluate(f"{shown}('canvas')).display)") == ["none"] * 2
    assert browser.evaluate(f"{shown}('.printed')).display)") == ["block"] * 2
    colours = """[...document.querySelectorAll('.printed')].map((image) => {
      const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      return new Set(new Uint32Array(
        context.getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
    })"""
    assert min(browser.evaluate(colours)) > 20, "a map that is drawn has many colours"
    cut = (
        "[...document.querySelectorAll('pre')].filter((e) => e.scrollWidth > e.clientWidth).length"
    )
    assert browser.evaluate(cut) == 0
    bars = "[...document.querySelectorAll('.bar')].map((bar) => bar.clientWidth)"
    assert min(browser.evaluate(bars)) > 50
    browser.call("Emulation.setEmulatedMedia", media="")


def test_maps_are_on_paper_before_the_script_has_run(page, browser, tmp_path):
    copied = tmp_path / "page.html"
    copied.write_text(re.sub(r"<script>.*?</script>", "", page.read_text("utf-8"), flags=re.DOTALL))
    browser.open(copied, 700, 900, ready="document.images.length")
    browser.call("Emulation.setEmulatedMedia", media="print")
    pictures = """(async () => {
      const images = [...document.querySelectorAll(".printed.still")];
      await Promise.all(images.map((image) => image.decode()));
      return images.map((image) => {
        const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
        return [image.clientHeight, new Set(new Uint32Array(pixels.buffer)).size];
      });
    })()"""
    shown = browser.evaluate(pictures)
    assert len(shown) == 2
    assert all(height > 150 and colours > 20 for height, colours in shown), shown
    browser.call("Emulation.setEmulatedMedia", media="")


def test_what_is_left_out_of_a_longer_trace_is_said(tmp_path, monkeypatch):
    for module in ("findings", "sections"):
        monkeypatch.setattr(f"simalloc.report.page.{module}.WHOLE_EVENTS", 100)
    write_trace(load("make").prefix(1000), tmp_path / "start.npz")
    found = find_out(open_trace(tmp_path / "start.npz"), given="start.npz")
    assert {one.candidate.settings for one in found.settings} < {
        "", "arena_max=2", "dirty_decay_ms=0", "aggressive_decommit=on",
        "purge_delay=0", "decommit_delay=0",
    }  # fmt: skip
    assert "the page omits settings that seldom help" in page_of([found], "simalloc").decode()
