"""Where a C compiler finds the headers for compiled policies."""

from pathlib import Path


def get_include() -> list[str]:
    """Return the folders that a C compiler is to search for `simalloc_family.h` (`-I`).

    docs/adding-a-policy.md shows a family that is compiled outside the package.
    """
    package = Path(__file__).parents[1]
    return [str(package / "heap" / "core"), str(package)]
