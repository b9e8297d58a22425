"""Servers of Debian's packages, and the load of each, which this process generates on loopback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from types import MappingProxyType
from typing import Final, NamedTuple

from simalloc.errors import SimallocError

_HERE: Final = Path(__file__).parent
_CLIENTS: Final = 8
_SECONDS: Final = 60.0


class Served(NamedTuple):
    """The number of requests of a load, and the number without the expected reply."""

    requests: int
    failed: int = 0


@dataclass(frozen=True)
class Server:
    """A server: its preparation in a folder, its command with a port, and its load.

    `load` receives the folder and the port. It raises an error if a connection breaks.
    """

    name: str
    package: str
    program: str
    command: Callable[[Path, int], Sequence[str]]
    load: Callable[[Path, int], Served]
    prepare: Callable[[Path, int], None] = lambda _folder, _port: None

    @property
    def is_installed(self) -> bool:
        """True if the server's program is installed."""
        return shutil.which(self.program) is not None


def _run(command: Sequence[str]) -> None:
    """Run a program to completion. Raise `SimallocError` if it fails."""
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - Debian packages
    except (OSError, subprocess.CalledProcessError) as error:
        raise SimallocError(f"{command[0]} failed: {error}") from error


def free_port() -> int:
    """Return an unused port on loopback."""
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port: int = some.getsockname()[1]
        return port


def wait_for(port: int, is_alive: Callable[[], bool]) -> None:
    """Wait until a process listens on a port. Raise `SimallocError` if that takes too long."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and is_alive():
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SimallocError(f"nothing listens at port {port} after {_SECONDS:.0f} s")


@contextmanager
def listening(
    server: Server,
    folder: Path,
    before: Sequence[str] = (),
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Prepare and start a server in a folder; yield its process and port once it listens.

    `before` is put before the server's command, and `variables` are added to its environment. The
    server is killed at the end. Raises `SimallocError` if it does not start.
    """
    port = free_port()
    server.prepare(folder, port)
    process = subprocess.Popen(  # noqa: S603 - a Debian server or our own
        [*before, *server.command(folder, port)],
        env=os.environ | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port, lambda: process.poll() is None)
        yield process, port
    finally:
        process.kill()
        process.wait()


def _by_clients(work: Callable[[int, int], Served], port: int) -> Served:
    """Run the clients concurrently; each receives its number."""
    with ThreadPoolExecutor(_CLIENTS) as pool:
        return Served(*map(sum, zip(*pool.map(partial(work, port), range(_CLIENTS)), strict=True)))


def _memcached(_folder: Path, port: int) -> Served:
    return _by_clients(_memcached_client, port)


def _memcached_client(port: int, number: int) -> Served:
    random, count = Random(number), 1500  # noqa: S311 - a load, not a secret
    failed = 0
    with socket.create_connection(("127.0.0.1", port), 10) as server:
        answers = server.makefile("rb")
        for turn in range(count):
            key = f"key{random.randrange(3000)}"
            value = b"x" * random.randrange(20, 8000)
            server.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), len(value), value))
            failed += answers.readline() != b"STORED\r\n"
            if turn % 3 == 0:
                server.sendall(b"delete %s\r\n" % f"key{random.randrange(3000)}".encode())
                failed += answers.readline() not in {b"DELETED\r\n", b"NOT_FOUND\r\n"}
    return Served(count, failed)


def _redis(_folder: Path, port: int) -> Served:
    return _by_clients(_redis_client, port)


def _redis_client(port: int, number: int) -> Served:
    random, count = Random(number), 4000  # noqa: S311 - a load, not a secret
    failed = 0
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
            failed += not answers.readline().startswith((b"+OK", b":"))
    return Served(count, failed)


def _prepare_mariadb(folder: Path, _port: int) -> None:
    _run(
        ["mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", "--user=root",
         "--auth-root-authentication-method=normal", "--skip-test-db"],
    )  # fmt: skip


def _mariadb(_folder: Path, port: int) -> Served:
    """Run mariadb-slap, which fails if a query fails."""
    queries = 1500
    _run(
        ["mariadb-slap", "--no-defaults", "--host=127.0.0.1", f"--port={port}", "--user=root",
         "--auto-generate-sql", "--auto-generate-sql-load-type=mixed", f"--concurrency={_CLIENTS}",
         f"--number-of-queries={queries}"],
    )  # fmt: skip
    return Served(queries)


def _http(_folder: Path, port: int, method: str = "POST") -> Served:
    return _by_clients(partial(_http_client, method=method), port)


def _http_client(port: int, number: int, *, method: str) -> Served:
    random, count = Random(number), 150  # noqa: S311 - a load, not a secret
    failed = 0
    client = HTTPConnection("127.0.0.1", port, timeout=30)
    for turn in range(count):
        text = "".join(chr(97 + random.randrange(26)) for _ in range(random.randrange(500, 6000)))
        asked = {"session": number * count + turn, "text": text}
        body = json.dumps(asked) if method == "POST" else None
        failed += not _is_served(client, method, f"/{random.randrange(20)}.txt", body)
    client.close()
    return Served(count, failed)


def _is_served(client: HTTPConnection, method: str, path: str, body: str | None = None) -> bool:
    """Make a request, and return whether the reply is complete and successful."""
    client.request(method, path, body)
    reply = client.getresponse()
    return len(reply.read()) > 0 and reply.status == HTTPStatus.OK


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


class _Origin(BaseHTTPRequestHandler):
    """The site behind a proxy: the text of each path has its own size and may be cached."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        text = b"some words\n" * (1 + sum(self.path.encode()) * 7919 % 2500)
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def _prepare_squid(folder: Path, port: int) -> None:
    folder.chmod(0o755)
    logs = folder / "logs"
    logs.mkdir()
    shutil.chown(logs, "proxy")
    (folder / "squid.conf").write_text(
        f"http_port 127.0.0.1:{port}\nvisible_hostname loopback\nhttp_access allow localhost\n"
        "cache_mem 16 MB\nmaximum_object_size_in_memory 64 KB\nmemory_pools off\n"
        f"access_log none\ncache_log stdio:{logs}/cache.log\npid_filename none\n"
        "coredump_dir none\npinger_enable off\nshutdown_lifetime 1 second\n"
    )


def _squid(_folder: Path, port: int) -> Served:
    origin = ThreadingHTTPServer(("127.0.0.1", 0), _Origin)
    with origin:
        Thread(target=origin.serve_forever, daemon=True).start()
        served = _by_clients(partial(_squid_client, site=f"127.0.0.1:{origin.server_port}"), port)
        origin.shutdown()
    return served


def _squid_client(port: int, number: int, *, site: str) -> Served:
    random, count = Random(number), 400  # noqa: S311 - a load, not a secret
    failed = 0
    client = HTTPConnection("127.0.0.1", port, timeout=30)
    for _ in range(count):
        path = f"http://{site}/{int(1500 * random.random() ** 2)}.txt"
        failed += not _is_served(client, "GET", path)
    client.close()
    return Served(count, failed)


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
        "Squid", "squid", "squid",
        lambda folder, _: ["squid", "-N", "-f", f"{folder}/squid.conf"],
        _squid, _prepare_squid,
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
