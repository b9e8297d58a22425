"""Base classes of objects that are displayed in notebooks.

Traces, policies and runs do not depend on tables and pictures, which belong to higher layers. Only
this module imports upwards, when an object is displayed: `simalloc.report.looks` has a table or a
picture for each kind of object.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

LOOKS: Final = "simalloc.report.looks"


class ShownAsTable:
    """An object that is displayed as tables: HTML in a notebook, text where it is printed."""

    __slots__ = ()

    def __str__(self) -> str:
        text: str = import_module(LOOKS).text_of(self)
        return text

    def _repr_html_(self) -> str:
        shown: str = import_module(LOOKS).html_of(self)
        return shown


class ShownAsSteps:
    """An object that is displayed with a slider in a notebook, and printed as text."""

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
    """An object that is displayed as a picture, or as text if matplotlib is not installed."""

    __slots__ = ()

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]] | None:
        shown: tuple[bytes, dict[str, Any]] | None = import_module(LOOKS).png_of(self)
        return shown
