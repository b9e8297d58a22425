"""Executes notebooks in a new kernel and writes them in a form that is easy to review.

`python -m notebooks` writes the committed files. Cells have names instead of random ids, keys are
sorted, and the files contain neither times nor names of machines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

if TYPE_CHECKING:
    from nbformat import NotebookNode

FOLDER: Final = Path(__file__).parent
VARIES: Final = "varies"
"""Tag of cells whose output differs between machines."""

_METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_CODE_VERSION: Final = re.compile(r"\d+\.\d+\.\d+\+[0-9a-f]{12}")
_ADDRESS: Final = re.compile(r"0x[0-9a-f]+")
_WIDGET: Final = "application/vnd.jupyter.widget-view+json"
"""MIME type of a widget, which is removed: without its kernel, the picture is shown instead."""
_PATIENCE: Final = 600
"""Limit for the start of a kernel and for each cell, in seconds, on a busy machine too."""


def notebooks() -> list[Path]:
    """Return the paths of all notebooks, in order."""
    return sorted(FOLDER.glob("*.ipynb"), key=number_of)


def number_of(path: Path) -> int:
    """Return the number with which a notebook's name begins."""
    return int(path.name.partition("-")[0])


def read(path: Path) -> NotebookNode:
    """Return the notebook in a file.

    Raises `nbformat.ValidationError` if the file is not a notebook.
    """
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def executed(path: Path) -> NotebookNode:
    """Return a notebook with the outputs of its execution in a new kernel.

    Raises `nbclient.exceptions.CellExecutionError` for an error in a cell, and `ValueError` if a
    cell writes to stderr, for example a warning.
    """
    notebook = read(path)
    with TemporaryDirectory(prefix="simalloc-") as folder:
        # Sockets in a private folder: no port is open, and the kernel does not warn of one.
        kernel = Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"})
        here = {"metadata": {"path": str(path.parent)}}
        NotebookClient(
            notebook,
            config=kernel,
            resources=here,
            timeout=_PATIENCE,
            startup_timeout=_PATIENCE,
        ).execute()
    tidied = _tidied(notebook)
    for cell in tidied.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise ValueError(f"{path.name}, cell {cell.id}: stderr: {output['text']}")
    return tidied


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook in a form in which small changes have small diffs."""
    text = nbformat.writes(notebook, version=4, sort_keys=True, indent=1)
    path.write_text(f"{text.rstrip()}\n", "utf-8")


def comparable(notebook: NotebookNode) -> dict[str, list[dict[str, str]]]:
    """Return the reproducible text of a notebook's outputs, by cell.

    Excludes cells tagged `varies`, pictures, the version of the code and memory addresses.
    """
    return {
        cell.id: [text for output in cell.outputs if (text := _texts(output))]
        for cell in notebook.cells
        if cell.cell_type == "code" and VARIES not in cell.metadata.get("tags", [])
    }


def _texts(output: Any) -> dict[str, str]:
    texts = {"text": output["text"]} if "text" in output else dict(output.get("data", {}))
    return {
        kind: _ADDRESS.sub("ADDRESS", _CODE_VERSION.sub("VERSION", text))
        for kind, text in texts.items()
        if kind.startswith("text") and text
    }


def _tidied(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook without metadata and outputs that change at every run."""
    notebook.metadata = nbformat.from_dict(_METADATA)
    count = 0
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = _joined(output for output in cell.outputs if not _is_spent_progress(output))
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
            output.pop("transient", None)
            output.get("data", {}).pop(_WIDGET, None)
    return notebook


def _joined(outputs: Iterable[Any]) -> list[Any]:
    """Return outputs in which adjacent outputs of the same stream are joined."""
    joined: list[Any] = []
    for output in outputs:
        if joined and "name" in output and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def _is_spent_progress(output: Any) -> bool:
    return output.output_type == "display_data" and not any(output.data.values())
