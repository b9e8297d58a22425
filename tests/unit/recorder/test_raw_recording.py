"""The reader of raw recordings validates everything."""

import random

import numpy as np
import pytest
from recorded import compile_program, read_all, run_recorded

from simalloc.errors import TraceError
from simalloc.trace.recorder import RawRecording, Wanted, convert
from simalloc.trace.recorder.convert import raw_recordings

UNIT = 16 << 10
SEGMENTS = UNIT + (64 << 10) + UNIT
"""Offset of the first events, after the header, the table of large blocks, and the shared pages."""
SEGMENT_HEADER = 64


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    directory = tmp_path_factory.mktemp("recording")
    program = compile_program("threads.c", directory)
    return run_recorded(
        [program, "3", "4000"], directory / "raw", Wanted(times=True, depth=1)
    ).raw.path


def read_damaged(path, content):
    path.write_bytes(content)
    raw = RawRecording(path)
    return sum(len(chunk) for chunk in raw.chunks())


def test_it_reads_in_portions_what_it_reads_at_once(recording):
    whole = read_all(RawRecording(recording))
    raw = RawRecording(recording)
    portions = []
    for before in range(0, raw.counts.records + 1000, 1000):
        portions += list(raw.chunks(before))
        raw.refresh()
        assert raw.counts.read == min(before, raw.counts.records)
    assert sum(map(len, portions)) == len(whole)
    assert np.array_equal(
        np.concatenate([part.columns["address"] for part in portions]), whole.columns["address"]
    )


def test_what_is_no_recording(tmp_path):
    path = tmp_path / "1.1.raw"
    for content in (b"", b"x", bytes(5000), b"simaREC2" + bytes(20000), bytes(UNIT)):
        with pytest.raises(TraceError, match=r"1\.1\.raw: the file") as caught:
            read_damaged(path, content)
        assert caught.value.path == path
    with pytest.raises(FileNotFoundError):
        RawRecording(tmp_path / "2.1.raw")


def test_what_never_began_is_left_out(tmp_path):
    (tmp_path / "1.1.raw").touch()
    (tmp_path / "2.1.raw").write_bytes(bytes(UNIT))
    assert raw_recordings(tmp_path) == []


def test_a_file_that_was_cut_off(recording, tmp_path):
    content = recording.read_bytes()
    path = tmp_path / "1.1.raw"
    for length in range(1, len(content), 4999):
        if length > SEGMENTS and length % UNIT < SEGMENT_HEADER:
            continue  # the file seems to end between two segments
        with pytest.raises(TraceError, match="byte"):
            read_damaged(path, content[:length])


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (SEGMENTS, 7, "contains no segment here"),
        (SEGMENTS + 8, 100, "wrong length"),
        (SEGMENTS + 8, 1 << 40, "wrong length"),
        (SEGMENTS + 16, 1 << 40, "unreadable"),
        (SEGMENTS + 24, 0xFFFFFFFE, "wrong stream"),
        (8, 5, "damaged header"),
    ],
)
def test_wrong_numbers_in_the_headers(recording, tmp_path, place, value, message):
    content = bytearray(recording.read_bytes())
    content[place : place + 8] = value.to_bytes(8, "little")
    with pytest.raises(TraceError, match=message):
        read_damaged(tmp_path / "1.1.raw", content)


def test_a_place_that_is_numbered_too_high(recording, tmp_path):
    content = bytearray(recording.read_bytes())
    first = content.index(b"\x3b\x01", SEGMENTS + SEGMENT_HEADER)  # a place record, number 1
    content[first + 1 : first + 5] = b"\xff\xff\xff\x7f"
    with pytest.raises(TraceError, match="unreadable"):
        read_damaged(tmp_path / "1.1.raw", content)


def test_no_damage_crashes_the_reader(recording, tmp_path):
    whole = recording.read_bytes()
    path = tmp_path / "1.1.raw"
    dice = random.Random(1)
    refused = 0
    for _ in range(400):
        content = bytearray(whole)
        for _ in range(dice.choice([1, 3, 30])):
            first = dice.choice([0, SEGMENTS, SEGMENTS, SEGMENTS + SEGMENT_HEADER])
            content[dice.randrange(first, dice.choice([SEGMENTS + 200, len(content)]))] = (
                dice.randrange(256)
            )
        try:
            read_damaged(path, content)
        except TraceError:
            refused += 1
    assert refused > 50


def test_a_damaged_recording_leaves_no_trace(recording, tmp_path):
    content = bytearray(recording.read_bytes())
    content[SEGMENTS + 16] ^= 0xFF
    content[SEGMENTS + 19] = 0xFF
    path = tmp_path / "1.1.raw"
    path.write_bytes(content)
    with pytest.raises(TraceError):
        convert(RawRecording(path), tmp_path / "out.npz")
    assert [file.name for file in tmp_path.iterdir()] == ["1.1.raw"]
