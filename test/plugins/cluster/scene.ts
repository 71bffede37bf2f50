/** Gateways of several processes; each request uses a new connection, so that every worker has its turn. */
import { type Agent, request } from "node:http";
import type { SpawnedGateway } from "../../support/gateway.ts";

export interface Response {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json: any;
}

export function ask(
  gateway: Pick<SpawnedGateway, "url" | "token">,
  method: string,
  path: string,
  body?: unknown,
  { token = gateway.token, agent = false }: { token?: string; agent?: Agent | false } = {},
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
    const req = request(gateway.url + path, { method, headers, agent }, (res) => {
      let text = "";
      res.setEncoding("utf8");
      res.on("data", (chunk: string) => {
        text += chunk;
      });
      res.on("error", reject);
      res.on("end", () => {
        const json = res.headers["content-type"]?.includes("json") ? JSON.parse(text) : undefined;
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json });
      });
    });
    req.on("error", reject);
    req.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export const chat = (
  gateway: Pick<SpawnedGateway, "url" | "token">,
  model: string,
  content = "hi",
  token?: string,
  agent?: Agent,
) =>
  ask(
    gateway,
    "POST",
    "/v1/chat/completions",
    { model, messages: [{ role: "user", content }] },
    { token, agent },
  );

export const times = <T>(n: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, i) => work(i)));

/** A continuing response: the text so far, and how it ended. */
export function watch(
  { url, token }: Pick<SpawnedGateway, "url" | "token">,
  method: string,
  path: string,
  body?: unknown,
  agent: Agent | false = false,
) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const req = request(url + path, { method, headers, agent });
  let text = "";
  const opened = new Promise<void>((resolve, reject) => {
    req.on("response", () => resolve()).on("error", reject);
  });
  const end = new Promise<"whole" | "cut">((resolve) => {
    req.on("response", (res) => {
      res.on("data", (chunk: Buffer) => (text += chunk.toString())).on("error", () => {});
      res.on("close", () => resolve(res.complete ? "whole" : "cut"));
    });
  });
  req.on("error", () => {});
  req.end(body === undefined ? undefined : JSON.stringify(body));
  return { opened, end, text: () => text, close: () => void req.destroy() };
}
