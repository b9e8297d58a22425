"""Servers of Debian's packages, and the load that each gets: from this process, by loopback."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Final

from simalloc.errors import SimallocError

_HERE: Final = Path(__file__).parent
_CLIENTS: Final = 8
_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Server:
    """A server: its preparation in a folder, its command with a port, and its load.

    `load` gets the folder and the port, and returns the number of served requests.
    """

    name: str
    package: str
    program: str
    command: Callable[[Path, int], Sequence[str]]
    load: Callable[[Path, int], int]
    prepare: Callable[[Path, int], None] = lambda _folder, _port: None

    @property
    def is_installed(self) -> bool:
        """True if its program is installed."""
        return shutil.which(self.program) is not None


def _run(command: Sequence[str]) -> None:
    """Run a program to its end. Raises `SimallocError` if it fails."""
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - of Debian's packages
    except (OSError, subprocess.CalledProcessError) as error:
        raise SimallocError(f"{command[0]} failed: {error}") from error


def free_port() -> int:
    """Return a port of loopback that nobody has."""
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port: int = some.getsockname()[1]
        return port


def wait_for(port: int, is_alive: Callable[[], bool]) -> None:
    """Wait until somebody listens at a port. Raises `SimallocError` if that takes too long."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and is_alive():
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SimallocError(f"nothing listens at port {port} after {_SECONDS:.0f} s")


def _by_clients(work: Callable[[int, int], int], port: int) -> int:
    """Let clients work at the same time; each gets its number."""
    with ThreadPoolExecutor(_CLIENTS) as pool:
        return sum(pool.map(partial(work, port), range(_CLIENTS)))


def _memcached(_folder: Path, port: int) -> int:
    return _by_clients(_memcached_client, port)


def _memcached_client(port: int, number: int) -> int:
    random, count = Random(number), 1500  # noqa: S311 - a load, no secret
    with socket.create_connection(("127.0.0.1", port), 10) as server:
        answers = server.makefile("rb")
        for turn in range(count):
            key = f"key{random.randrange(3000)}"
            value = b"x" * random.randrange(20, 8000)
            server.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), len(value), value))
            answers.readline()
            if turn % 3 == 0:
                server.sendall(b"delete %s\r\n" % f"key{random.randrange(3000)}".encode())
                answers.readline()
    return count


def _redis(_folder: Path, port: int) -> int:
    return _by_clients(_redis_client, port)


def _redis_client(port: int, number: int) -> int:
    random, count = Random(number), 4000  # noqa: S311 - a load, no secret
    with socket.create_connection(("127.0.0.1", port), 10) as server:
        answers = server.makefile("rb")
        for turn in range(count):
            key = f"key{number}:{turn}"
            if turn % 4 == 3:
                words = ["DEL", f"key{number}:{random.randrange(turn)}"]
            elif turn % 4 == 2:
                words = ["HSET", f"hash{number}:{turn % 300}", key, "y" * random.randrange(10, 300)]
            else:
                words = ["SET", key, "x" * random.randrange(20, 3000)]
            parts = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            server.sendall(f"*{len(words)}\r\n{parts}".encode())
            answers.readline()
    return count


def _prepare_mariadb(folder: Path, _port: int) -> None:
    _run(
        ["mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", "--user=root",
         "--auth-root-authentication-method=normal", "--skip-test-db"],
    )  # fmt: skip


def _mariadb(_folder: Path, port: int) -> int:
    queries = 1500
    _run(
        ["mariadb-slap", "--no-defaults", "--host=127.0.0.1", f"--port={port}", "--user=root",
         "--auto-generate-sql", "--auto-generate-sql-load-type=mixed", f"--concurrency={_CLIENTS}",
         f"--number-of-queries={queries}"],
    )  # fmt: skip
    return queries


def _http(_folder: Path, port: int, method: str = "POST") -> int:
    return _by_clients(partial(_http_client, method=method), port)


def _http_client(port: int, number: int, *, method: str) -> int:
    random, count = Random(number), 150  # noqa: S311 - a load, no secret
    client = HTTPConnection("127.0.0.1", port, timeout=30)
    for turn in range(count):
        text = "".join(chr(97 + random.randrange(26)) for _ in range(random.randrange(500, 6000)))
        asked = {"session": number * count + turn, "text": text}
        body = json.dumps(asked) if method == "POST" else None
        client.request(method, f"/{random.randrange(20)}.txt", body)
        client.getresponse().read()
    client.close()
    return count


def _prepare_nginx(folder: Path, port: int) -> None:
    site = folder / "site"
    site.mkdir()
    for number in range(20):
        (site / f"{number}.txt").write_text("some words\n" * 200 * (number + 1))
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; error_log {folder}/error.log; pid {folder}/pid;\n"
        "events { worker_connections 128; }\n"
        f"http {{ access_log off; gzip on; gzip_types text/plain; root {site};\n"
        f"client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n"
        f"fastcgi_temp_path {folder}/fcgi; uwsgi_temp_path {folder}/uwsgi;\n"
        f"scgi_temp_path {folder}/scgi; types {{ text/plain txt; }}\n"
        f"server {{ listen 127.0.0.1:{port}; }} }}\n"
    )


def _prepare_java(folder: Path, _port: int) -> None:
    _run(["javac", "-d", str(folder), str(_HERE / "Service.java")])


SERVERS: Final = (
    Server(
        "MariaDB", "mariadb-server", "mariadbd",
        lambda folder, port: [
            "mariadbd", "--no-defaults", f"--datadir={folder}/data", f"--port={port}",
            "--bind-address=127.0.0.1", f"--socket={folder}/socket", "--user=root",
        ],
        _mariadb, _prepare_mariadb,
    ),
    Server(
        "memcached", "memcached", "memcached",
        lambda _, port: ["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-m", "64"],
        _memcached,
    ),
    Server(
        "Redis", "redis-server", "redis-server",
        lambda folder, port: [
            "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
            "--dir", str(folder),
        ],
        _redis,
    ),
    Server(
        "nginx", "nginx", "nginx",
        lambda folder, _: ["nginx", "-c", f"{folder}/nginx.conf"],
        partial(_http, method="GET"), _prepare_nginx,
    ),
    Server(
        "Python service", "python3", "/usr/bin/python3",
        lambda _, port: ["/usr/bin/python3", str(_HERE / "service.py"), str(port)],
        _http,
    ),
    Server(
        "Node service", "nodejs", "node",
        lambda _, port: ["node", str(_HERE / "service.js"), str(port)],
        _http,
    ),
    Server(
        "Java service", "default-jdk-headless", "javac",
        lambda folder, port: ["java", "-Xmx64m", "-cp", str(folder), "Service", str(port)],
        _http, _prepare_java,
    ),
)  # fmt: skip
