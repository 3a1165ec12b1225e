// trace_processor behind the HTTP interface of `trace_processor_shell -D`, as far as the perfetto Python package needs
// it to load one trace and query it. Listens on the loopback interface only, one client, one trace, one process.
//
//   node server.mjs --engine FOLDER [-D] [--http-port N]      N = 0, the default: any free port, told on stderr

import http from 'node:http';
import { parseArgs } from 'node:util';
import { Engine } from './engine.mjs';

const HOST = '127.0.0.1';
const FAILED = 1;
const CRASHED = 134;
const METHOD_OF_PATH = new Map([
  ['/status', 'status'],
  ['/parse', 'append'],
  ['/notify_eof', 'finalize'],
  ['/query', 'query'],
]);

// Ends the process with the reason as its last line.
function die(what, error, code) {
  process.stderr.write(`${what}: ${String(error.message).split('\n')[0]}\n`);
  process.exit(code);
}

function answer(engine, method, body, response) {
  try {
    response.setHeader('Content-Type', 'application/x-protobuf');
    response.end(engine.call(method, body));
  } catch (error) {
    die('trace_processor died', error, CRASHED); // after a trap the engine is unusable
  }
}

function serve(engine, port) {
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const method = METHOD_OF_PATH.get(request.url);
      // A browser always sends Origin with a request that crosses sites: no web page is a client here.
      if (!method || request.headers.origin) response.writeHead(404).end();
      else answer(engine, method, Buffer.concat(chunks), response);
    });
  });
  // The client keeps one connection open for as long as it works with the trace.
  server.keepAliveTimeout = server.headersTimeout = server.requestTimeout = 0;
  server.on('error', (error) => die('cannot listen', error, FAILED));
  server.listen(port, HOST, () => process.stderr.write(`listening on ${HOST}:${server.address().port}\n`));
}

const { values } = parseArgs({
  options: {
    engine: { type: 'string' },
    'http-port': { type: 'string', default: '0' },
    httpd: { type: 'boolean', short: 'D' },
  },
});
const engine = await Engine.load(values.engine).catch((error) => die('cannot start trace_processor', error, FAILED));
serve(engine, Number(values['http-port']));
