"""The part of `simalloc report` on code, viewed and used in Chromium."""

import shlex

import pytest
from command import simalloc

from simalloc import draw_flame_graph
from simalloc.report.page.code import quoted
from simalloc.trace import Op, Trace, write_trace
from simalloc.trace.sites import PATH

PATHS = [
    "", "xmalloc < temp_buffer (page.c:20) < serve (main.c:4) < main (main.c:9)",
    "xmalloc < remember_session (session.c:7) < serve (main.c:5) < main (main.c:9)",
]  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page on sessions that remain between freed buffers."""
    count = 2000
    op = [Op.MALLOC] * count + [Op.FREE] * (count // 2)
    number = [*range(count), *range(0, count, 2)]
    size = [3000 - event % 700 if event % 2 == 0 else 40 for event in range(count)]
    site = [1 + event % 2 for event in range(count)] + [0] * (count // 2)
    made = Trace.from_events(
        op, number, size + [0] * (count // 2), site=site, provenance={"sites": PATHS}, name="served"
    )
    folder = tmp_path_factory.mktemp("code")
    write_trace(made, folder / "served.npz")
    output = folder / "page.html"
    done = simalloc("report", folder / "served.npz", "--no-native", "-o", output)
    assert done.exit_code == 0, done.stderr
    return output


@pytest.fixture
def tab(browser, page):
    browser.open(page, 1200, 900)
    yield browser
    assert browser.complaints() == []


def test_the_page_names_the_guilty_and_what_to_do(page):
    text = page.read_text("utf-8")
    assert text.index("remember_session (session.c:7)</td>") < text.index(
        "temp_buffer (page.c:20)</td>"
    )
    assert "Live bytes over time by code" in text
    assert "simalloc sites" in text


def test_a_command_of_a_policy_with_quotes_is_one_word_of_a_shell():
    for policy in ("ptmalloc", "pymalloc:below='ptmalloc:cores=2',zero_as_one=on", "it's $5.py:P"):
        assert shlex.split(quoted(policy)) == [policy]


def test_a_deep_flame_graph_fits_on_a_sheet_of_paper(browser, tmp_path):
    path = PATH.join([f"f{depth} (deep.c:{depth})" for depth in range(1, 150)])
    made = Trace.from_events([Op.MALLOC], [0], [64], site=[1], provenance={"sites": ["", path]})
    draw_flame_graph(made).save(tmp_path / "deep.html")
    browser.open(tmp_path / "deep.html", 700, 900)
    height = "document.querySelector('.boxes').clientHeight"
    assert browser.evaluate(height) == 150 * 22
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate(height) == pytest.approx(200 / 25.4 * 96, abs=1)
    browser.call("Emulation.setEmulatedMedia", media="")


def test_boxes_are_as_wide_as_their_share_and_zoom(tab):
    width = """((name) => parseFloat([...document.querySelectorAll(".box")]
        .find((box) => box.textContent.startsWith(name))?.style.width))"""
    assert tab.evaluate(f"{width}('remember_session')") == pytest.approx(100, abs=2)
    tab.evaluate("document.querySelector('.flame').flame.choose('width', 'live_bytes')")
    assert tab.evaluate(f"{width}('temp_buffer')") > 95
    tab.evaluate("""[...document.querySelectorAll(".box")]
        .find((box) => box.textContent.startsWith("remember")).click()""")
    assert tab.evaluate(f"{width}('remember_session')") == 100
    assert "session.c:7): pinned" in tab.evaluate(
        "document.querySelector('.flame .under').textContent"
    )
    tab.evaluate("document.querySelector('.flame [data-do=out]').click()")
    tab.evaluate("document.querySelector('.flame').flame.choose('way', 'bottom-up')")
    second = "document.querySelectorAll('.box[aria-level=\"2\"]')"
    names = tab.evaluate(f"[...{second}].map((box) => box.textContent.split(' ')[0])")
    assert names == ["temp_buffer", "remember_session"]


def test_search_marks_boxes_and_says_their_share(tab):
    tab.evaluate("""(() => {
        const input = document.querySelector(".flame input");
        input.value = "SESSION.c";
        input.dispatchEvent(new Event("input"));
    })()""")
    assert tab.evaluate("document.querySelectorAll('.fits').length") == 1
    said = tab.evaluate("document.querySelector('.flame .found').textContent")
    assert said.startswith("1 box with ")


def test_keys_move_and_zoom(tab):
    tab.evaluate("document.querySelector('.box').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        tab.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    assert tab.evaluate("document.activeElement.textContent") == "remember_session (session.c:7)"
    assert tab.evaluate("document.querySelectorAll('.above').length") == 3
    tab.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert tab.evaluate("document.querySelectorAll('.above').length") == 0


def test_from_a_pin_to_its_stack_in_one_click(tab):
    tab.evaluate("""[...document.querySelectorAll("a[data-site]")]
        .find((link) => link.textContent.includes("remember")).click()""")
    assert tab.evaluate("document.querySelector('[aria-selected=true]').textContent").startswith(
        "remember_session"
    )


def test_the_map_is_coloured_by_code_and_names_it(tab):
    tab.evaluate("document.querySelector('[data-do=code]').click()")
    legend = tab.evaluate("document.querySelector('.map .codes').innerText")
    assert "remember_session (session.c:7)" in legend
    read = """((event, address) => {
        const map = document.querySelector(".map").heapMap;
        map.pointed({ event, address });
        return map.under.textContent;
    })"""
    assert "equested by" in tab.evaluate(f"{read}(1500, 100000)")
    assert tab.evaluate("document.querySelector('.map [data-do=code]').textContent") == "by age"


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_sticks_out(tab, page, width):
    tab.open(page, width, 800, dark=True)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
