/** A simple proxy: node:http and undici's dispatcher, which passes the response's bytes through. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Dispatcher, Pool } from "undici";
import { checkRequest } from "./proxy-request.ts";
import type { Translation } from "./proxy-translate.ts";

/**
 * Starts the proxy, and sends its port to the parent process. `translation` applies to streams, which pass through without
 * it.
 */
export function undiciProxy(upstream: number, translation?: Translation): void {
  const pool = new Pool(`http://127.0.0.1:${upstream}`, {
    connections: null,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  // the same as the gateway's, so that idle connections can be compared
  const server = createServer({ keepAliveTimeout: 75_000 }, (req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      const body = checkRequest(
        req.headers.authorization ?? "",
        Buffer.concat(parts).toString("utf8"),
      );
      if (typeof body === "number") {
        res.writeHead(body).end();
        return;
      }
      const headers = { "content-type": "application/json", authorization: "Bearer sk-bench" };
      const path = translation?.path ?? "/v1/chat/completions";
      const translate = translation?.createTranslator();
      const upstreamBody = translation === undefined ? body : translation.request(body);
      pool.dispatch(
        { path, method: "POST", headers, body: upstreamBody },
        passThrough(res, translate),
      );
    });
  });
  server.listen(0, "127.0.0.1", () =>
    process.send!({ port: (server.address() as AddressInfo).port }),
  );
}

function passThrough(
  res: ServerResponse,
  translate = (bytes: Buffer) => bytes,
): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller) {
      res.on("close", () => {
        if (!res.writableFinished) controller.abort(new Error("gone"));
      });
    },
    onResponseStart(controller, status, headers) {
      const type = String(headers["content-type"]);
      const length = headers["content-length"];
      res.writeHead(status, {
        "content-type": type,
        ...(typeof length === "string" && { "content-length": length }),
      });
      res.on("drain", () => controller.resume());
    },
    onResponseData(controller, bytes) {
      if (!res.write(translate(bytes))) controller.pause();
    },
    onResponseEnd() {
      res.end();
    },
    onResponseError() {
      res.destroy();
    },
  };
}
