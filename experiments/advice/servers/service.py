"""A threaded service in Python: it parses and writes JSON, and keeps sessions for a while."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sessions: dict[int, list[dict[str, str]]] = {}


class Handler(BaseHTTPRequestHandler):
    """Answers a request, and keeps its data as a session."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Parse the request, keep rows for its session and send them back."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = asked["session"]
        rows = [{f"key{i}": asked["text"][i : i + 40]} for i in range(200)]
        sessions[number] = rows
        if len(sessions) > 200:
            sessions.pop(next(iter(sessions)))
        answer = json.dumps(rows).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


ThreadingHTTPServer.request_queue_size = 64
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
