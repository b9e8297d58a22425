/* A server and its own clients, to measure what recording a program with a compiler at run time
 * costs: 3,000 requests over 8 connections, each answered with a compressed buffer as JSON. Writes
 * the processor time of the process, in microseconds. */
const http = require('http');
const zlib = require('zlib');

const REQUESTS = 3000;
const CONNECTIONS = 8;

const server = http.createServer((request, response) => {
  const block = Buffer.from('x'.repeat(20000));
  zlib.deflate(block, (error, packed) => {
    response.end(JSON.stringify({ packed: packed.toString('base64'), list: [1, 2, 3] }));
  });
});

server.listen(0, '127.0.0.1', () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let begun = 0;
  let done = 0;
  function ask() {
    if (begun++ >= REQUESTS) return;
    http.get({ port: server.address().port, agent }, (response) => {
      response.on('data', () => {});
      response.on('end', () => {
        if (++done === REQUESTS) {
          console.log(process.cpuUsage());
          process.exit(0);
        }
        ask();
      });
    });
  }
  for (let i = 0; i < CONNECTIONS; i++) ask();
});
