"""Function names from a file's own symbol table: what is left without a symbolizer."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.symbols.elf import SymbolTable, symbol_tables

_FILES: Final = 64
"""How many files' tables are kept."""


class _Functions(NamedTuple):
    """A table by address."""

    starts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    table: SymbolTable


def function_at(path: str, address: int) -> str:
    """Return the name of the function that has an address in a program or library; "" if none."""
    for functions in _functions(path):
        at = int(np.searchsorted(functions.starts, np.uint64(address), "right")) - 1
        if at >= 0 and address < int(functions.ends[at]):
            return functions.table.name(int(functions.table.symbols["name"][at]))
    return ""


@lru_cache(_FILES)
def _functions(path: str) -> tuple[_Functions, ...]:
    return tuple(map(_by_address, symbol_tables(path)))


def _by_address(table: SymbolTable) -> _Functions:
    symbols = table.symbols[table.symbols["size"] > 0]
    _, first = np.unique(symbols["value"], return_index=True)
    symbols = symbols[first]
    ends = symbols["value"] + symbols["size"]
    return _Functions(symbols["value"], ends, SymbolTable(symbols, table.names))
