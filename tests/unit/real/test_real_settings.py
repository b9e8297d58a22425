"""Settings of real allocators: their text, and their environment variables."""

import pytest

from simalloc.errors import SimallocError
from simalloc.heap.real import Allocator, allocators, find_allocators


@pytest.fixture(autouse=True)
def everything_installed(monkeypatch):
    monkeypatch.setattr(allocators, "find_library", lambda name: f"lib{name}.so.1")


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("glibc,jemalloc", [("glibc", {}), ("jemalloc", {})]),
        ("glibc, glibc:arena_max=1", [("glibc", {}), ("glibc", {"arena_max": "1"})]),
        (
            "glibc:arena_max=2,top_pad=64K,jemalloc",
            [("glibc", {"arena_max": "2", "top_pad": "64K"}), ("jemalloc", {})],
        ),
        (
            "jemalloc:MALLOC_CONF=narenas:1,tcache:false,glibc",
            [("jemalloc", {"MALLOC_CONF": "narenas:1,tcache:false"}), ("glibc", {})],
        ),
        (
            "jemalloc:MALLOC_CONF='narenas:1,tcache:false',TZ=UTC",
            [("jemalloc", {"MALLOC_CONF": "narenas:1,tcache:false", "TZ": "UTC"})],
        ),
    ],
)
def test_a_list_of_allocators_with_settings(text, settings):
    found = find_allocators(text)
    assert [(each.name, dict(each.settings)) for each in found] == settings
    assert find_allocators(",".join(map(str, found))) == found


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        (
            "glibc:arena_max=2,top_pad=64K,MALLOC_ARENA_TEST=3",
            {
                "GLIBC_TUNABLES": "glibc.malloc.arena_max=2:glibc.malloc.top_pad=65536",
                "MALLOC_ARENA_TEST": "3",
            },
        ),
        (
            "jemalloc:narenas=1,background_thread=on",
            {"MALLOC_CONF": "narenas:1,background_thread:true"},
        ),
        ("jemalloc:tcache_max=4K", {"MALLOC_CONF": "tcache_max:4096"}),
        (
            "mimalloc:decommit_delay=0",
            {"MIMALLOC_SHOW_ERRORS": "1", "MIMALLOC_DECOMMIT_DELAY": "0"},
        ),
        (
            "tcmalloc:aggressive_decommit=on,max_total_thread_cache_bytes=1M,release_rate=0.5",
            {
                "TCMALLOC_AGGRESSIVE_DECOMMIT": "1",
                "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "1048576",
                "TCMALLOC_RELEASE_RATE": "0.5",
            },
        ),
    ],
)
def test_settings_are_variables_of_the_environment(text, environment):
    (allocator,) = find_allocators(text)
    assert allocator.environment == {"LD_PRELOAD": allocator.preload, **environment}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("glibc:arena_maxx=2", "glibc has no setting 'arena_maxx'; it has arena_max"),
        ("glibc:arena_max=few", "'few' is not a size"),
        ("tcmalloc:release_rate=few", "'few' is not a size"),
        ("glibc:arena_max", "'arena_max' is not of the form NAME=VALUE"),
        ("glibc:arena_max=1,arena_max=2", "arena_max is given twice"),
        ("glibc:arena_max=1,jemallok", "unknown allocator 'jemallok'"),
        ("glibc:Arena=1", "unknown setting 'Arena'"),
    ],
)
def test_what_is_no_setting(text, words):
    with pytest.raises(SimallocError, match=words):
        find_allocators(text)


def test_a_library_of_ones_own_has_variables_only():
    assert Allocator("/my.so", "/my.so").set_to((("MINE", "1"),)).environment["MINE"] == "1"
    with pytest.raises(SimallocError, match="unknown setting 'mine'"):
        Allocator("/my.so", "/my.so").set_to((("mine", "1"),))
