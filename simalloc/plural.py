"""Numbers with nouns, and kinds of objects, for messages."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: `1 event`, `2,000 events`; `many` is an irregular plural."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def kind_of(given: object) -> str:
    """Return the kind of an object: `an int`, `a list with a Trace`, `None`, or a quoted text."""
    if given is None or isinstance(given, str):
        return repr(given)
    name = type(given).__name__
    article = "an" if name[0].lower() in "aeiou" else "a"
    if not isinstance(given, (list, tuple)):
        return f"{article} {name}"
    return f"{article} {name} with {kind_of(given[0])}" if given else f"an empty {name}"
