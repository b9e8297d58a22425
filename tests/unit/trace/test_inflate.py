"""Our inflate beside zlib's: the same bytes from whatever zlib takes, and no harm from the rest."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simalloc.trace._native import inflate

RANDOM = np.random.default_rng(5)
CONTENTS = {
    "nothing": b"",
    "one byte": b"x",
    "zeros": bytes(100_000),
    "noise": RANDOM.bytes(100_000),
    "few symbols": RANDOM.integers(0, 3, 70_000, np.uint8).tobytes(),
    "skewed": RANDOM.geometric(0.02, 200_000).clip(0, 255).astype(np.uint8).tobytes(),
    "periods": b"".join(bytes(range(n)) * 300 for n in range(1, 40)),
    "far away": RANDOM.bytes(32_000) * 3,
}


def deflate(content, level=6, strategy=zlib.Z_DEFAULT_STRATEGY):
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    return packer.compress(content) + packer.flush()


def inflated(stream, room):
    """What comes of a stream, and whether that is all; None if it is damaged."""
    out = np.empty(room, np.uint8)
    try:
        made, whole = inflate(stream, out)
    except ValueError:
        return None
    return out[:made].tobytes(), whole


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("level", [0, 1, 6, 9])
@pytest.mark.parametrize("strategy", [0, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED])
def test_it_gives_what_was_deflated(content, level, strategy):
    stream = deflate(content, level, strategy)
    assert inflated(stream, len(content)) == (content, True)
    assert inflated(stream + b"more", len(content) + 5) == (content, True)
    if content:
        short, whole = inflated(stream, len(content) - 1)
        assert not whole
        assert content.startswith(short)


@pytest.mark.parametrize("name", ["noise", "skewed", "periods"])
def test_every_truncation_is_noticed(name):
    for level in (0, 6):
        content = CONTENTS[name][:3000]
        stream = deflate(content, level)
        for length in range(len(stream)):
            assert inflated(stream[:length], len(content)) is None


@given(
    content=st.sampled_from([content[:5000] for content in CONTENTS.values()]),
    level=st.sampled_from([0, 1, 6]),
    changes=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=3),
)
@settings(max_examples=300)
def test_damage_is_judged_as_zlib_does(content, level, changes):
    stream = bytearray(deflate(content, level))
    for place, value in changes:
        stream[place % len(stream)] = value
    unpacker = zlib.decompressobj(-15)
    try:
        expected = unpacker.decompress(bytes(stream), 10_000)
    except zlib.error:
        return  # what it refuses we may notice later: a chunk has a digest
    if unpacker.eof:
        assert inflated(bytes(stream), 10_000) == (expected, True)
    elif len(expected) < 10_000:
        assert inflated(bytes(stream), 10_000) is None


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_noise_does_no_harm(stream):
    answer = inflated(stream, 1000)
    assert answer is None or len(answer[0]) <= 1000
