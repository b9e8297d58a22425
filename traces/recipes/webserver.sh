# A web server of Python's library that keeps sessions, with one thread per connection. PYTHONMALLOC=malloc.
# Packages: python3.11-minimal libpython3.11-stdlib
cat > server.py <<'PY'
"""Answers requests on a Unix socket with pages made for each session; ends at /stop."""
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

threading.stack_size(256 * 1024)
SESSIONS = {}

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = False

    def address_string(self):
        return "local"

    def log_message(self, *words):
        pass

    def do_GET(self):
        session, page = self.path.strip("/").split("/")
        if session == "stop":
            threading.Thread(target=self.server.shutdown).start()
        seen = SESSIONS.setdefault(session, [])
        seen.append(f"{page}: {len(seen)}")
        if len(seen) > 40:
            del SESSIONS[session]
        body = "".join(f"<li>{line}</li>" for line in seen * (1 + int(page) % 9)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = False

Server("front", Handler).serve_forever()
PY
cat > load.py <<'PY'
"""Twelve clients at once, one request each in turn, over 96 connections one after the other."""
import socket

def connect():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("front")
    return connection, connection.makefile("rb")

def ask(client, path):
    connection, answers = client
    connection.sendall(b"GET /%s HTTP/1.1\r\nHost: example.org\r\n\r\n" % path.encode())
    while (line := answers.readline().strip().lower()) != b"":
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return len(answers.read(length))

total = 0
for round in range(8):
    clients = [connect() for _ in range(12)]
    for turn in range(25):
        for number, client in enumerate(clients):
            session = (number * 7 + turn * round) % 60
            total += ask(client, f"{session}/{turn * 12 + number}")
    for connection, answers in clients:
        answers.close()
        connection.close()
total += ask(connect(), "stop/0")
print(total)
PY
export PYTHONMALLOC=malloc PYTHONHASHSEED=0
$RECORD python3.11 server.py > log 2>&1 &
recorder=$!
trap 'kill $recorder' EXIT
until [ -S front ]; do sleep 0.1; done
python3.11 load.py > answered
trap - EXIT
wait $recorder
