"""The option `-a NAME...`, which selects real allocators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from simalloc.heap.real import find_allocators


def allocators_option() -> Callable[[Any], Any]:
    """Return the option -a, whose value is the list of named allocators; empty by default."""
    return click.option(
        "-a",
        "--allocators",
        multiple=True,
        metavar="NAME[:SETTING=VALUE,...],...",
        callback=lambda _context, _option, given: [
            allocator for names in given for allocator in find_allocators(names)
        ],
        help="glibc, jemalloc, mimalloc, tcmalloc, or the path of a shared library. A setting in "
        "lower case, such as arena_max, is an option of the allocator; a setting in capitals is an "
        "environment variable. Repeatable. Default: each of the four named "
        "allocators that is installed.",
    )
