/** Encodes frames of `application/vnd.amazon.eventstream`, with an independent implementation of the checksum. */

function frame(headers: Record<string, string>, payload: unknown): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const key = Buffer.from(name);
      const text = Buffer.from(value);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(text.length);
      return Buffer.concat([Buffer.from([key.length]), key, Buffer.from([7]), length, text]);
    }),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + head.length + body.length, 0);
  prelude.writeUInt32BE(head.length, 4);
  prelude.writeUInt32BE(checksum(prelude.subarray(0, 8)), 8);
  const whole = Buffer.concat([prelude, head, body, Buffer.alloc(4)]);
  whole.writeUInt32BE(checksum(whole.subarray(0, -4)), whole.length - 4);
  return whole;
}

export function event(type: string, payload: Record<string, unknown>): Buffer {
  const headers = {
    ":event-type": type,
    ":content-type": "application/json",
    ":message-type": "event",
  };
  // Converse pads its payloads so that their lengths reveal nothing.
  return frame(headers, { ...payload, p: "abcdefghijklmnop".slice(0, type.length % 16) });
}

export function exception(type: string, message: string): Buffer {
  return frame({ ":exception-type": type, ":message-type": "exception" }, { message });
}

/** Calculates CRC-32 bit by bit. */
function checksum(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
