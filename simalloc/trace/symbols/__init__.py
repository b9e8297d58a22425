"""Names of return addresses: function, file and line, including inlined functions."""

from simalloc.trace.symbols.naming import Names, Place, is_named, name_places
from simalloc.trace.symbols.plain import plain_name
from simalloc.trace.symbols.tools import symbolizer

__all__ = ["Names", "Place", "is_named", "name_places", "plain_name", "symbolizer"]
