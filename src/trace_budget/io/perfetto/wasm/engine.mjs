// Perfetto's trace_processor, as the WebAssembly build that the Perfetto UI runs in a web worker.
//
// The UI's own worker script (engine_bundle.js) loads and drives trace_processor.wasm. It only needs what a web worker
// offers: `self`, a synchronous XMLHttpRequest for the .wasm file, and a message port for requests and replies. All
// three are given here by hand, and since the port is a plain object, a request is answered when its call returns.
// The script refuses to run where it sees Node's `process`, so that name is hidden from it.

import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { pathToFileURL } from 'node:url';
import { byteFields, bytes, integer } from './wire.mjs';

// perfetto.protos.TraceProcessorRpc: [value of `request`, field of the arguments (0: none), field of the result]
const METHODS = {
  append: [1, 101, 201],
  finalize: [2, 0, 212],
  query: [3, 103, 203],
  status: [10, 0, 210],
};
const REQUEST = 2;
const FATAL_ERROR = 5;
const MEMORY_SECTION = 5;

function offerWorkerScope(folder, bundle) {
  globalThis.self = { location: { href: pathToFileURL(bundle).href } };
  globalThis.WorkerGlobalScope = Object;
  globalThis.XMLHttpRequest = class {
    open(_method, url) {
      this.file = path.join(folder, path.basename(url));
    }
    send() {
      this.response = fs.readFileSync(this.file);
    }
  };
}

// The bundle takes the 64-bit build where WebAssembly has 64-bit memory; the 32-bit build keeps the heap below 4 GiB.
// It finds out by compiling a module that is nothing but a memory section.
function hideMemory64() {
  const Module = WebAssembly.Module;
  WebAssembly.Module = function (code) {
    if (code[8] === MEMORY_SECTION) throw new WebAssembly.CompileError('no 64-bit memory here');
    return new Module(code);
  };
}

export class Engine {
  constructor() {
    this.fragments = [];
    this.port = { postMessage: (data) => this.fragments.push(Buffer.from(data.buffer, data.byteOffset, data.length)) };
  }

  // Loads the build in `folder` and asks its status once, so that a build that does not work is noticed here.
  static async load(folder) {
    const bundle = path.join(folder, 'engine_bundle.js');
    offerWorkerScope(folder, bundle);
    hideMemory64();
    vm.compileFunction(fs.readFileSync(bundle, 'utf8'), ['process'], { filename: bundle })(undefined);
    const engine = new Engine();
    globalThis.self.onmessage({ data: engine.port });
    await new Promise(setImmediate); // the bundle registers its reply function in a microtask
    engine.call('status', Buffer.alloc(0));
    return engine;
  }

  // The serialised result of one request; results sent in several messages are concatenated, which merges them.
  call(method, argumentBytes) {
    const [request, argumentField, resultField] = METHODS[method];
    const body = argumentField ? bytes(argumentField, argumentBytes) : Buffer.alloc(0);
    this.fragments = [];
    this.port.onmessage({ data: bytes(1, Buffer.concat([integer(REQUEST, request), body])) });
    const results = [];
    for (const [, message] of byteFields(Buffer.concat(this.fragments))) {
      for (const [field, payload] of byteFields(message)) {
        if (field === FATAL_ERROR) throw new Error(payload.toString());
        if (field === resultField) results.push(payload);
      }
    }
    if (!results.length) throw new Error(`trace_processor gave no answer to ${method}`);
    return Buffer.concat(results);
  }
}
