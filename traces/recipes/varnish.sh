# Varnish as a cache of 128 MB that evicts the least recently used entry, under a generated load.
# Packages: varnish python3.11-minimal libpython3.11-stdlib
# Process: busiest
cat > server.py <<'PY'
"""Serves /PAGE/SIZE, a body of SIZE bytes, on a Unix socket: what Varnish fetches from."""
import socketserver

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while request := self.rfile.readline():
            while self.rfile.readline().strip():
                pass
            size = int(request.split()[1].rpartition(b"/")[2])
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: max-age=86400\r\n"
                b"Content-Length: %d\r\n\r\n" % size + bytes(size)
            )

class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

Server("backend", Handler).serve_forever()
PY
cat > load.py <<'PY'
"""Asks for 150,000 pages of 60,000, the first most often; prints how many bytes came."""
import socket

connection = socket.socket(socket.AF_UNIX)
connection.connect("front")
answers = connection.makefile("rb")
state, total = 1, 0
for _ in range(150_000):
    state = (state * 69069 + 12345) % 2**32
    share = state / 2**32
    page = int(60_000 * share * share)
    size = 300 + page * 7919 % 34_000 // (1 + page % 4)
    connection.sendall(b"GET /%d/%d HTTP/1.1\r\nHost: example.org\r\n\r\n" % (page, size))
    while (line := answers.readline().strip().lower()) != b"":
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    total += len(answers.read(length))
print(total)
PY
cat > cache.vcl <<VCL
vcl 4.1;
backend default { .path = "$HOME/backend"; }
VCL
python3.11 server.py &
server=$!
trap 'kill $server' EXIT
until [ -S backend ]; do sleep 0.1; done
$RECORD varnishd -F -j none -n "$HOME/state" -a "$HOME/front" -f "$HOME/cache.vcl" -s malloc,128m \
  -p thread_pools=1 -p thread_pool_min=5 > log 2>&1 &
recorder=$!
until [ -S front ] && varnishadm -n "$HOME/state" status 2> /dev/null | grep -q running; do sleep 0.2; done
python3.11 load.py > answered
varnishstat -n "$HOME/state" -1 > counters
varnishadm -n "$HOME/state" stop
kill $recorder
wait $recorder
