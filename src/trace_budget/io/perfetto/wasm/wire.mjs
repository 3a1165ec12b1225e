// The few pieces of the protobuf wire format that the RPC envelope needs; payloads stay opaque.

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

function varint(value) {
  const out = [];
  for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) | 128);
  return Buffer.from([...out, value]);
}

// An integer field: its number and a value below 2^53.
export function integer(id, value) {
  return Buffer.concat([varint(id * 8 + VARINT), varint(value)]);
}

// A bytes, string or message field.
export function bytes(id, payload) {
  return Buffer.concat([varint(id * 8 + BYTES), varint(payload.length), payload]);
}

function readVarint(data, at) {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    if (at >= data.length) throw new Error('reply ends inside a number');
    const byte = data[at++];
    value += (byte % 128) * scale;
    if (byte < 128) return [value, at];
  }
}

// Yields [field number, payload] for every bytes field of a message, and steps over all others.
export function* byteFields(data) {
  let at = 0;
  while (at < data.length) {
    let tag, size;
    [tag, at] = readVarint(data, at);
    const type = tag % 8;
    if (type === BYTES) {
      [size, at] = readVarint(data, at);
      yield [Math.floor(tag / 8), data.subarray(at, at + size)];
      at += size;
    } else if (type === VARINT) {
      [size, at] = readVarint(data, at);
    } else if (type === FIXED64 || type === FIXED32) {
      at += type === FIXED64 ? 8 : 4;
    } else {
      throw new Error(`reply holds wire type ${type}`);
    }
  }
}
