"""Policies by name and in text."""

import pytest

from simalloc.errors import PolicyError
from simalloc.policy import CATALOGUE, format_size, parse_size, policy, spell

JOHNSTONE_WILSON = [
    *(
        f"{fit}-fit-{order}"
        for fit in ("first", "next", "best")
        for order in ("ao", "lifo", "fifo")
    ),
    *("first-fit-ao-8k", "best-fit-ao-8k", "lea-2.6.1", "binary-buddy", "double-buddy"),
    *("simple-seg-2n", "simple-seg-2n-3x2n"),
]


def test_the_sixteen_are_there_and_say_where_their_rules_come_from():
    assert len(JOHNSTONE_WILSON) == 16
    for name in JOHNSTONE_WILSON:
        assert "Johnstone & Wilson 1998" in policy(name).source
        assert policy(name).reading


def test_parameters_are_set_by_name():
    assert policy("first-fit-ao:growth=64K").description.growth == 65536
    assert policy("first-fit-ao", growth="64K") == policy("first-fit-ao:growth=65536")
    both = policy("double-buddy:growth=8K,growth_3x=12K,order=fifo")
    assert both.parameters == {"order": "fifo", "growth": 8192, "growth_3x": 12288}


@pytest.mark.parametrize("name", CATALOGUE)
def test_what_is_spelled_is_read_again(name):
    assert spell(policy(name)) == name
    changed = policy(name, growth="64K")
    assert policy(spell(changed)) == changed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("worst-fit", "no policy"),
        ("first-fit", "did you mean"),
        ("", "no policy"),
        ("first-fit-ao:growth", "NAME=VALUE"),
        ("first-fit-ao:growth=", "NAME=VALUE"),
        ("first-fit-ao:speed=9", "no parameter 'speed'; it has fit, order, growth"),
        ("first-fit-ao:growth=many", "growth is 'many'; it takes a size: a whole number"),
        ("first-fit-ao:growth=4K,growth=8K", "growth is given twice"),
        ("first-fit-ao:growth=0", "takes a size"),
        ("first-fit-ao:growth=-4096", "growth is '-4096'; it takes"),
        ("first-fit-ao:growth=99999999999999999999", "takes a size"),
        ("first-fit-ao:order=random", "lifo, fifo, ao"),
        ("binary-buddy:growth=6K", "power of two"),
        ("double-buddy:growth_3x=4K", "multiple of 24"),
        ("double-buddy:growth_3x=18K", "three times"),
        ("double-buddy:growth=12K", "power of two"),
    ],
)
def test_what_is_wrong_is_said(text, complaint):
    with pytest.raises(PolicyError, match=complaint):
        policy(text)


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("64k", 1 << 16), ("1M", 1 << 20), ("2G", 1 << 31)]
)
def test_sizes(text, size):
    assert parse_size(text) == size
    assert parse_size(format_size(size)) == size
