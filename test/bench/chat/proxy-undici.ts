/** A proxy as one would write it in an afternoon: node:http and undici's dispatcher, the response's bytes passed on. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Dispatcher, Pool } from "undici";
import { forwarded } from "./proxy-request.ts";

/** Tells the parent process its port. */
export function undiciProxy(upstream: number): void {
  const pool = new Pool(`http://127.0.0.1:${upstream}`, {
    connections: null,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      const body = forwarded(req.headers.authorization ?? "", Buffer.concat(parts).toString("utf8"));
      if (typeof body === "number") {
        res.writeHead(body).end();
        return;
      }
      const headers = { "content-type": "application/json", authorization: "Bearer sk-bench" };
      pool.dispatch({ path: "/v1/chat/completions", method: "POST", headers, body }, passOn(res));
    });
  });
  server.listen(0, "127.0.0.1", () => process.send!({ port: (server.address() as AddressInfo).port }));
}

function passOn(res: ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller) {
      res.on("close", () => {
        if (!res.writableFinished) controller.abort(new Error("gone"));
      });
    },
    onResponseStart(controller, status, headers) {
      const type = String(headers["content-type"]);
      const length = headers["content-length"];
      res.writeHead(status, { "content-type": type, ...(typeof length === "string" && { "content-length": length }) });
      res.on("drain", () => controller.resume());
    },
    onResponseData(controller, bytes) {
      if (!res.write(bytes)) controller.pause();
    },
    onResponseEnd() {
      res.end();
    },
    onResponseError() {
      res.destroy();
    },
  };
}
