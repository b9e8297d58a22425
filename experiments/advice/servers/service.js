// A service in Node: it parses JSON, compresses the answer, and keeps sessions for a while.
const http = require('http');
const zlib = require('zlib');

const sessions = new Map();
http.createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const asked = JSON.parse(Buffer.concat(parts));
    sessions.set(asked.session, Buffer.from(asked.text.repeat(4)));
    if (sessions.size > 200) sessions.delete(sessions.keys().next().value);
    zlib.deflate(Buffer.from(asked.text.repeat(8)), (_, packed) => {
      response.writeHead(200, { 'Content-Length': packed.length });
      response.end(packed);
    });
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
