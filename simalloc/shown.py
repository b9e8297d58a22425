"""Base classes of objects that show themselves in notebooks.

Traces, policies and runs do not depend on tables and pictures, which are located in higher layers.
Only this module imports upwards, at the moment when an object is shown: `simalloc.report.looks` has
a table or a picture for each kind of object.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

LOOKS: Final = "simalloc.report.looks"


class ShownAsTable:
    """Shows itself as tables: in a notebook, and as text where it is printed."""

    __slots__ = ()

    def __str__(self) -> str:
        text: str = import_module(LOOKS).text_of(self)
        return text

    def _repr_html_(self) -> str:
        shown: str = import_module(LOOKS).html_of(self)
        return shown


class ShownAsSteps:
    """Shows itself with a slider in a notebook, and as text where it is printed."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.written(".txt").rstrip("\n")

    def _repr_html_(self) -> str:
        shown: str = import_module(LOOKS).steps_html(self)
        return shown

    def written(self, suffix: str) -> str:
        """Return the content of a file: `.html` (with a slider), `.svg` (animated) or `.txt`.

        Raises `SimallocError` for another suffix.
        """
        content: str = import_module(LOOKS).steps_written(self, suffix)
        return content


class ShownAsPicture:
    """Shows itself as a picture, or as text where matplotlib is not installed."""

    __slots__ = ()

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]] | None:
        shown: tuple[bytes, dict[str, Any]] | None = import_module(LOOKS).png_of(self)
        return shown
