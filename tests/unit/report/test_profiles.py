"""Profiles for other programs, read back and compared with the definitions of their formats."""

import gzip
import json
import re
import shutil
import subprocess
from collections import Counter

import jsonschema
import numpy as np
import pytest

from simalloc.errors import SimallocError
from simalloc.measure.sites import profile_of
from simalloc.report.browser.flame import flame_data
from simalloc.report.flame_graph import FlameGraph
from simalloc.report.profiles import writer_for
from simalloc.report.profiles.whole import whole_numbers
from simalloc.trace import Op, Trace

NAMES = [
    "", "xmalloc < a::b<int, 2> (x y.c:1) < main (x.c:9)", "größe; (x.c:2) < main (x.c:8)",
    "a::b<int, 2> (x y.c:3) < a::b<int, 2> (x y.c:1) < main (x.c:9)", "bare",
]  # fmt: skip


@pytest.fixture(scope="module")
def profile():
    random = np.random.default_rng(1)
    count = 500
    op = [Op.MALLOC] * count + [Op.FREE] * (count // 2)
    objects = [*range(count), *random.permutation(count)[: count // 2]]
    size = [*random.integers(1, 3000, count), *[0] * (count // 2)]
    site = [*random.integers(1, 5, count), *[0] * (count // 2)]
    trace = Trace.from_events(op, objects, size, site=site, provenance={"sites": NAMES})
    return profile_of(trace, "best-fit-ao")


def written(profile, ending, measure="pinned_bytes"):
    return writer_for(f"heap{ending}")(profile, "drawn", measure)


def expected(profile, measure):
    """Return the weights by path, with a path as pairs of function and line, outermost first."""
    whole = Counter()
    for path, weight in zip(profile.paths, profile.values[measure], strict=True):
        whole[tuple((frame.function, frame.line) for frame in reversed(path))] += weight
    return whole


def is_near(found, wanted):
    return all(abs(found[path] - weight) < 1 for path, weight in wanted.items()) and (
        sum(found.values()) == round(sum(wanted.values()))
    )


def fields(data):
    """Yield field number and value of a message, according to the encoding's definition."""
    place = 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            length = varint()
            yield key >> 3, data[place : place + length]
            place += length


def integers(data):
    """The integers of a packed field."""
    return [value for _, value in fields(b"".join(b"\x08" + each for each in split(data)))]


def split(data):
    """The varints of a packed field, one by one."""
    return re.findall(rb"[\x80-\xff]*[\x00-\x7f]", data, re.DOTALL)


def message(data, repeated=()):
    found = {}
    for field, value in fields(data):
        if field in repeated:
            found.setdefault(field, []).append(value)
        else:
            assert field not in found
            found[field] = value
    return found


def test_what_pprof_reads(profile):
    whole = message(gzip.decompress(written(profile, ".pb.gz")), {1, 2, 4, 5, 6})
    strings = [each.decode() for each in whole[6]]
    assert strings[0] == ""
    kinds = [message(each) for each in whole[1]]
    measures = [strings[kind[1]] for kind in kinds]
    assert measures == profile.measures
    assert {strings[kind[2]] for kind in kinds} == {"bytes", "count"}
    assert strings[whole[14]] == "pinned_bytes"
    functions = {each[1]: strings[each[2]] for each in map(message, whole[5])}
    locations = {}
    for each in map(message, whole[4]):
        line = message(each[4])
        locations[each[1]] = (functions[line[1]], line.get(2, 0))
    found = {measure: Counter() for measure in measures}
    for each in map(message, whole[2]):
        path = tuple(locations[number] for number in reversed(integers(each[1])))
        for measure, value in zip(measures, integers(each[2]), strict=True):
            found[measure][path] += value
    for measure in measures:
        assert is_near(found[measure], expected(profile, measure))


@pytest.mark.skipif(not shutil.which("pprof"), reason="no pprof is installed")
def test_pprof_itself_reads_it(profile, tmp_path):
    path = tmp_path / "heap.pb.gz"
    path.write_bytes(written(profile, ".pb.gz", "live_bytes"))
    top = ["pprof", "-unit=B", "-lines", "-top", str(path)]
    done = subprocess.run(top, capture_output=True, text=True, check=True)
    assert "Type: live_bytes" in done.stdout
    assert f"{round(profile.total('live_bytes'))}B total" in done.stdout
    assert "größe; x.c:2" in done.stdout


# Required fields of a speedscope file, according to its file-format-spec.ts.
SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "name": {"type": "string"},
        "exporter": {"type": "string"},
        "activeProfileIndex": {"type": "integer"},
        "shared": {
            "properties": {
                "frames": {
                    "items": {
                        "required": ["name"],
                        "additionalProperties": False,
                        "properties": {
                            "name": {"type": "string"},
                            "file": {"type": "string"},
                            "line": {"type": "integer"},
                        },
                    }
                }
            }
        },
        "profiles": {
            "items": {
                "required": ["type", "name", "unit", "startValue", "endValue", "samples",
                             "weights"],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "sampled"},
                    "name": {"type": "string"},
                    "unit": {"enum": ["none", "nanoseconds", "microseconds", "milliseconds",
                                      "seconds", "bytes"]},
                    "startValue": {"type": "number"},
                    "endValue": {"type": "number"},
                    "samples": {"items": {"type": "array", "items": {"type": "integer"}}},
                    "weights": {"items": {"type": "number"}},
                },
            }
        },
    },
}  # fmt: skip


def test_what_speedscope_reads(profile):
    whole = json.loads(written(profile, ".json"))
    jsonschema.validate(whole, SPEEDSCOPE)
    frames = [(frame["name"], frame.get("line", 0)) for frame in whole["shared"]["frames"]]
    assert whole["profiles"][whole["activeProfileIndex"]]["name"] == "pinned_bytes"
    for each in whole["profiles"]:
        found = Counter()
        for sample, weight in zip(each["samples"], each["weights"], strict=True):
            found[tuple(frames[number] for number in sample)] += weight
        assert is_near(found, expected(profile, each["name"]))
        assert each["endValue"] == sum(each["weights"])


def test_collapsed_stacks(profile):
    text = written(profile, ".txt", "live_bytes").decode()
    found = Counter()
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        found[stack] += int(weight)
    assert sum(found.values()) == profile.total("live_bytes")
    assert "main (x.c:8);größe: (x.c:2)" in found
    assert "bare" in found


def test_shares_are_rounded_so_that_their_sum_is_right():
    assert whole_numbers(np.array([0.5, 0.5, 0.5, 0.5])) == [0, 1, 1, 0]
    assert sum(whole_numbers(np.full(1000, 1 / 3))) == 333


def test_a_name_that_says_no_format():
    with pytest.raises(SimallocError, match=r"heap\.svg has no known suffix"):
        writer_for("heap.svg")


def test_a_flame_graph_is_a_page_that_needs_nothing_else(profile, tmp_path):
    graph = FlameGraph("</script>", {"best-fit-ao": profile})
    graph.save(tmp_path / "flame.html")
    text = (tmp_path / "flame.html").read_text("utf-8")
    assert "src=" not in text
    assert "http" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert text.count("</script>") == 2
    assert graph._repr_html_().startswith("<iframe srcdoc=")
    whole = flame_data({"best-fit-ao": profile})
    for tree in whole["trees"].values():
        for each, amounts in zip(whole["measures"], tree["totals"]["best-fit-ao"], strict=True):
            assert amounts[0] == round(profile.total(each["key"]))
