/* A server with its own clients, to measure the cost of recording a program that is compiled at run
 * time. The clients make 3,000 requests over 8 connections. The server answers each request with a
 * compressed buffer as JSON. Prints the processor time of the process in microseconds. */
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
