"""Policies by name and as text."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from simalloc.errors import PolicyError, SimallocError
from simalloc.policy import (
    CATALOGUE,
    FAMILIES,
    GROUP_TITLES,
    GROUPS,
    HEAP_POLICIES,
    expand_policies,
    find_policy,
    parameters_of,
    spell,
)
from simalloc.policy.description import read_parameters, spell_parameters
from simalloc.policy.families.base import parameter_ranges
from simalloc.policy.families.offline import Offline
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.sizes import format_size, parse_size

JOHNSTONE_WILSON = [
    *(
        f"{fit}-fit-{order}"
        for fit in ("first", "next", "best")
        for order in ("ao", "lifo", "fifo")
    ),
    *("first-fit-ao-8k", "best-fit-ao-8k", "lea-2.6.1", "binary-buddy", "double-buddy"),
    *("simple-seg-2n", "simple-seg-2n-3x2n"),
]


def test_every_group_has_a_title_and_no_other():
    assert set(GROUP_TITLES) == set(GROUPS), "one module of each group says its TITLE"


def test_the_sixteen_are_there_and_say_where_their_rules_come_from():
    assert sorted(JOHNSTONE_WILSON) == sorted(GROUPS["johnstone-wilson"])
    assert len(JOHNSTONE_WILSON) == 16
    for name in JOHNSTONE_WILSON:
        assert "Johnstone & Wilson 1998" in find_policy(name).source
        assert find_policy(name).reading


def test_parameters_are_set_by_name():
    assert find_policy("first-fit-ao:growth=64K").description.growth == 65536
    assert find_policy("first-fit-ao", growth="64K") == find_policy("first-fit-ao:growth=65536")
    both = find_policy("double-buddy:growth=8K,growth_3x=12K,order=fifo")
    assert both.parameters == {"order": "fifo", "growth": 8192, "growth_3x": 12288}


@pytest.mark.parametrize(
    "text",
    [
        "pytorch:fraction=0.95,settings='max_split_size_mb:64,expandable_segments:True',capacity=80G",
        "pytorch:roundup_power2_divisions='[64:8,>:1]'",
        "pytorch-expandable:roundup_power2_divisions=4",
        "ort-arena:extend=same-as-requested",
        "bfc:fraction=0.75,growth=off,capacity=8G",
    ],
)
def test_device_allocators_are_spelled_with_quotes(text):
    assert spell(find_policy(text)) == text
    assert find_policy(spell(find_policy(text))) == find_policy(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pytorch:settings='max_split_size_mb:64", "not closed"),
        ("pytorch:settings='max_split_size_mb'", "not of the form KEY:VALUE"),
        ("pytorch:settings='max_split:64'", "unknown setting 'max_split'"),
        ("pytorch:settings=max_split_size_mb:x", "max_split_size_mb cannot be 'x'"),
        ("pytorch:settings=max_split_size_mb:10", "use 20 or more"),
        ("pytorch:settings=expandable_segments:yes", "cannot be 'yes'"),
        (
            "pytorch:settings=throw_on_cudamalloc_oom:True",
            "is not modelled; throw_on_cudamalloc_oom takes False",
        ),
        ("pytorch:settings=expandable_segments_reserve:512M", "is neither a share of the device"),
        ("pytorch:expandable_segments_reserve=0", "is neither a share of the device"),
        (
            "pytorch:capacity=80G,total=79G",
            "total is 84825604096; it needs a capacity of at most",
        ),
        ("pytorch:total=80G", "it needs a capacity"),
        ("pytorch:settings=backend:cudaMallocAsync", "the driver's"),
        ("pytorch:roundup_power2_divisions=3", "not a power of two"),
        ("pytorch:roundup_power2_divisions='[3:4]'", "3 is not a power of two"),
        ("pytorch:roundup_power2_divisions='[x]'", "is not MIB:DIVISIONS"),
        ("pytorch:fraction=0.5", "set capacity too"),
        ("pytorch:fraction=1.5,capacity=1G", "from 0 to 1"),
        ("pytorch:fraction=nan,capacity=1G", "from 0 to 1"),
        ("pytorch:large_segment_size_mb=10", "use 11 to"),
        ("bfc:growth=off", "needs a capacity"),
        ("rmm-pool:initial=2,maximum=1", "must be at least initial"),
        ("ort-arena:initial_chunk=0", "use a size"),
    ],
)
def test_device_allocators_that_cannot_be(text, complaint):
    with pytest.raises(PolicyError, match=re.escape(complaint)):
        find_policy(text)


@pytest.mark.parametrize("name", HEAP_POLICIES)
def test_what_is_spelled_is_read_again(name):
    assert spell(find_policy(name)) == name
    changed = find_policy(name, mechanism="off", header="64K")
    assert changed != find_policy(name)
    assert find_policy(spell(changed)) == changed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("worst-fit", "unknown policy"),
        ("first-fit", "did you mean"),
        ("", "unknown policy"),
        ("first-fit-ao:growth", "NAME=VALUE"),
        ("first-fit-ao:growth=", "NAME=VALUE"),
        ("first-fit-ao:speed=9", "no parameter 'speed'; it has fit, order, growth"),
        ("first-fit-ao:growth=many", "growth is 'many'; use a size such as 4096"),
        ("first-fit-ao:order='ao", "quote is not closed"),
        ("@johnstone-wilson", "can name several; simulate_all"),
        (["first-fit-ao", "jemalloc"], "can name several; simulate_all"),
        ("best-fit-ao,nosuch", "can name several; simulate_all"),
        ("best-fit-ao:growth=1K,jemalloc", "can name several; simulate_all"),
        ("best-fit-*", "can name several; simulate_all"),
        ("first-fit-ao:minimum_split=0", "minimum_split is 0; use a size from 1"),
        ("first-fit-ao:cache=3000M", "use a number from 0 to 2,147,483,648"),
        ("jemalloc:dirty_decay_ms=-2", "use a duration from -1 to 1,099,511,627,776 ms"),
        ("first-fit-ao:word=5", "word is 5; use 4 or 8"),
        ("first-fit-ao:mechanism=on,header=8", "the allocator's own header"),
        ("first-fit-ao:growth=4K,growth=8K", "growth is given twice"),
        ("first-fit-ao:growth=0", "use a size"),
        ("first-fit-ao:growth=-4096", "growth is -4096; use"),
        ("first-fit-ao:growth=99999999999999999999", "use a size"),
        ("first-fit-ao:order=random", "lifo, fifo, ao"),
        ("binary-buddy:growth=6K", "power of two"),
        ("double-buddy:growth_3x=4K", "3 times a power of two"),
        ("double-buddy:growth=12K", "power of two"),
    ],
)
def test_what_is_wrong_is_said(text, complaint):
    with pytest.raises(PolicyError, match=complaint):
        find_policy(text)


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("64k", 1 << 16), ("1M", 1 << 20), ("2G", 1 << 31)]
)
def test_sizes(text, size):
    assert parse_size(text) == size
    assert parse_size(format_size(size)) == size


def test_a_number_of_more_digits_than_python_reads_is_no_size():
    with pytest.raises(SimallocError, match="is not a size"):
        parse_size("9" * 5000)


@pytest.mark.parametrize("value", ["plain", "a:1,b:2", "it's", "'", "", " padded ", "a=b"])
def test_texts_are_quoted_where_they_need_it(value):
    values = {"settings": value, "growth": 4096}
    name, _, tail = spell_parameters("some", values, {"settings": None, "growth": 0}).partition(":")
    assert name == "some"
    assert read_parameters("", tail) == {"settings": value, "growth": "4K"}


def test_shared_parameters_show_where_they_are_not_at_their_defaults():
    assert find_policy("first-fit-ao").parameters == {
        "fit": "first",
        "order": "ao",
        "coalescing": "immediate",
        "growth": 4096,
    }
    changed = find_policy("first-fit-ao:trim=1K,mechanism=on,word=8")
    names = ["fit", "order", "growth", "coalescing", "trim", "mechanism", "word"]
    assert list(changed.parameters) == names
    assert spell(changed) == "first-fit-ao:trim=1K,mechanism=on,word=8"
    assert "count_tail" not in find_policy("lea-2.6.1").parameters


def test_every_row_is_in_a_group_and_of_a_known_family():
    for row in CATALOGUE.values():
        assert row.groups or row.name == "best-possible", "it competes with no one"
        assert all(row.name in GROUPS[group] for group in row.groups)
    for row in HEAP_POLICIES.values():
        assert FAMILIES[row.family] is type(row.description)


@pytest.mark.parametrize(
    "family", [kind for kind in FAMILIES.values() if not issubclass(kind, Offline)]
)
def test_every_family_is_one_place(family):
    module = sys.modules[family.__module__]
    rules = Path(module.__file__).with_suffix(".md").read_text("utf-8")
    assert rules.startswith("# ")
    assert "visited" in rules.lower(), "all is said, to the last"
    reference, _, name = family.reference.partition(":")
    assert hasattr(import_module(f"simalloc.heap.reference.families.{reference}"), name)


def test_who_knows_all_keeps_no_lists():
    with pytest.raises(PolicyError, match="cache is 3; use 0, because no freed block waits"):
        find_policy("best-possible:cache=3")
    with pytest.raises(PolicyError, match="has no searches to count"):
        find_policy("best-possible:count_frees=on")
    assert Offline.reference == ""


def test_a_group_is_known_by_both_names_of_its_paper():
    assert expand_policies("@bohra-gabber") == expand_policies("@gabber")


def test_numbers_are_no_sizes():
    kinds = {name: str(kind) for name, kind in parameter_ranges(SequentialFit).items()}
    assert kinds["cache"] == "a number from 0 to 2,147,483,648"
    assert kinds["word"] == "4 or 8"
    assert kinds["quick"].startswith("a size from 0 to ")


@pytest.mark.parametrize("name", CATALOGUE)
def test_texts_of_a_policy_are_whole_sentences(name):
    policy = CATALOGUE[name]
    assert policy.reading.endswith(".")
    assert "  " not in policy.reading
    for one in parameters_of(policy):
        assert one.meaning.endswith("."), one.name
