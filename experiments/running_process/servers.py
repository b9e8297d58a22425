"""The servers of the comparison, among them a database whose heap grows under its load."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from experiments.advice.servers.loads import SERVERS, Served
from simalloc.errors import SimallocError

_TABLE: Final = (
    "CREATE DATABASE t",
    "CREATE TABLE t.p (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(200), b INT)",
    "INSERT INTO t.p (a, b) SELECT REPEAT('x', 150), seq % 1000 FROM t.seq_1_to_60000",
)
_REPORT: Final = (
    "SET SESSION group_concat_max_len = 8000000",
    "SELECT LENGTH(GROUP_CONCAT(a ORDER BY b)) FROM p WHERE id < 12000",
    "SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(a, id) c FROM p WHERE id < 6000) x",
    "SELECT LENGTH(JSON_ARRAYAGG(a)) FROM p WHERE id < 8000",
)
_CLIENTS: Final = 40
_QUERIES: Final = 320


def _reports(folder: Path, port: int) -> Served:
    """Let clients request reports on a table, which the first call creates."""
    made = folder / "made"
    if not made.exists():
        _asked("mariadb", port, f"--execute={';'.join(_TABLE)}")
        made.touch()
    _asked(
        "mariadb-slap", port, "--create-schema=t", "--delimiter=;", f"--query={';'.join(_REPORT)}",
        f"--concurrency={_CLIENTS}", f"--number-of-queries={_QUERIES}",
    )  # fmt: skip
    return Served(_QUERIES)


def _asked(program: str, port: int, *words: str) -> None:
    """Run a client of MariaDB. Raise `SimallocError` if it fails."""
    command: Sequence[str] = (
        program, "--no-defaults", "--host=127.0.0.1", f"--port={port}", "--user=root", *words,
    )  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - Debian packages
    except (OSError, subprocess.CalledProcessError) as error:
        raise SimallocError(f"{program} failed: {error}") from error


_BY_NAME: Final = {server.name: server for server in SERVERS}
COMPARED: Final = (
    _BY_NAME["MariaDB"],
    replace(_BY_NAME["MariaDB"], name="MariaDB reports", load=_reports),
    _BY_NAME["memcached"],
    _BY_NAME["Python service"],
)
"""Servers with glibc's malloc."""
