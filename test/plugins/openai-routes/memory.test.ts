/** A large upload takes no memory: its file lies on disk while it is passed on. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { residentMegabytes } from "../../bench/harness/measure.ts";
import { spawnGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";

const MEGABYTE = Buffer.alloc(1024 * 1024, "x");
const SIZE = 100;
const LIMIT_MB = 80;
for (const [when, warmUps] of [
  ["as a gateway's first request", 0],
  ["after three small ones", 3],
] as const)
  test(`a recording of ${SIZE} MB adds less than ${LIMIT_MB} MB ${when}`, async () => {
    const added = await addedByUpload(warmUps);
    assert.ok(added < LIMIT_MB, `MB that were added: ${added}`);
  });

/** To the memory of a gateway of its own. */
async function addedByUpload(warmUps: number): Promise<number> {
  let received = 0;
  const upstream = createServer((req, res) => {
    req.on("data", (part: Buffer) => {
      received += part.length;
    });
    req.on("end", () =>
      res.end(JSON.stringify(req.method === "GET" ? { data: [] } : { text: "said" })),
    );
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  const gateway = await spawnGateway({
    config: { channels: { main: { provider: "openai", baseUrl, models: ["w"] } } },
  });
  const resident = () => residentMegabytes(gateway.child.pid!);

  function upload(megabytes: number): Promise<{ status: number | undefined; text: string }> {
    return new Promise((resolve, reject) => {
      const head = `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nmain/w\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`;
      const tail = "\r\n--b--\r\n";
      const length = head.length + megabytes * MEGABYTE.length + tail.length;
      const headers = {
        authorization: `Bearer ${gateway.token}`,
        "content-type": "multipart/form-data; boundary=b",
        "content-length": length,
      };
      const req = request(
        `${gateway.url}/v1/audio/transcriptions`,
        { method: "POST", headers },
        (res) => {
          let text = "";
          res.on("data", (part) => {
            text += part;
          });
          res.on("end", () => resolve({ status: res.statusCode, text }));
        },
      );
      req.on("error", reject);
      req.write(head);
      let left = megabytes;
      const more = () => {
        while (left > 0) {
          left--;
          if (!req.write(MEGABYTE)) return void req.once("drain", more);
        }
        req.end(tail);
      };
      more();
    });
  }

  try {
    for (let i = 0; i < warmUps; i++) await upload(4);
    received = 0;
    const before = resident();
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, resident())), 5);
    const { status, text } = await upload(SIZE);
    clearInterval(watch);
    assert.equal([status, text], [200, '{"text":"said"}']);
    assert.ok(received > SIZE * MEGABYTE.length);
    return Math.max(most, resident()) - before;
  } finally {
    await gateway.stop();
    upstream.close();
  }
}

test.run();
