"""`simalloc settings`, as other programs call it."""

import json

import pytest
from command import simalloc

from simalloc.trace import Op, Trace, write_trace


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    made = Trace.from_events(
        [Op.MALLOC] * 300 + [Op.FREE] * 200, [*range(300), *range(200)], [5000] * 300 + [0] * 200
    )
    path = tmp_path_factory.mktemp("settings") / "mine.npz"
    write_trace(made.renamed("mine"), path)
    return str(path)


def settings(*arguments):
    return simalloc("settings", *arguments)


def test_the_rows_of_a_program(trace):
    rows = json.loads(settings(trace, "--format", "json").stdout)
    assert {row["allocator"] for row in rows} == {"glibc", "jemalloc", "tcmalloc", "mimalloc"}
    assert [row["settings"] for row in rows if row["allocator"] == "glibc"][:2] == [
        "default", "arena_max=1",
    ]  # fmt: skip
    for row in rows:
        assert row["peak_resident_bytes"] >= row["mean_resident_bytes"] > 0
        assert row["peak_mapped_bytes"] >= row["final_mapped_bytes"] > 0
        assert ("export" in row["line"]) == (row["settings"] != "default" or row["line"] != "") or (
            "malloc_trim" in row["line"]
        )


def test_it_ends_in_a_verdict(trace):
    done = settings(trace, "--settings", "glibc:arena_max=3")
    assert done.exit_code == 0
    assert "arena_max=3" in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith(("Leave it:", "  export ", "export "))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--budget", "10"], "nothing stays below 10 bytes"),
        (["--budget", "much"], "'--budget': 'much' is not a size"),
        (["--settings", "hoard"], "no model of 'hoard'"),
        (["--settings", "glibc:speed=11"], "no parameter 'speed'"),
    ],
)
def test_what_cannot_be(trace, arguments, complaint):
    done = settings(trace, *arguments)
    assert done.exit_code == 2
    assert complaint in done.stderr


def test_a_devices_memory_is_not_given_to_malloc(tmp_path):
    (tmp_path / "steps.txt").write_text("m 0 2000000 0\nf 0\n")
    done = settings(str(tmp_path / "steps.txt"))
    assert done.exit_code == 2
    assert "`simalloc device`" in done.stderr


def test_the_verdict_says_what_to_put_apart(tmp_path):
    """Sessions that stay between buffers that go: glibc gives back the end of its heap alone."""
    count = 1000
    op = [Op.MALLOC] * count + [Op.FREE] * (count // 2)
    made = Trace.from_events(
        op,
        [*range(count), *range(0, count, 2)],
        [6000 if event % 2 == 0 else 40 for event in range(count)] + [0] * (count // 2),
        site=[1 + event % 2 for event in range(count)] + [0] * (count // 2),
        provenance={"sites": ["", "buffer (page.c:2)", "xmalloc < remember (session.c:7)"]},
    )
    path = tmp_path / "served.npz"
    write_trace(made, path)
    said = settings(str(path), "--no-native").stdout
    assert "Put what remember (session.c:7) allocates into an arena of its own: 2.89 MiB to" in said
