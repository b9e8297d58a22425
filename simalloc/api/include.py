"""The folders of the C headers for compiled policies."""

from pathlib import Path


def get_include() -> list[str]:
    """Return the folders in which a C compiler finds `simalloc_family.h`.

    Returns
    -------
    list of str
        Folders for the compiler's option `-I`. docs/adding-a-policy.md shows a family that is
        compiled outside the package.

    Examples
    --------
    >>> [f"-I{folder}" for folder in simalloc.get_include()]
    """
    package = Path(__file__).parents[1]
    return [str(package / "heap" / "core"), str(package)]
