/** The requests that the console may send to the browser. It can look, start and stop, but not control a page. */
import { reply } from "portico";
import type { BrowserService } from "portico/browser";

type BrowserRequest = "profiles" | "tabs" | "screenshot" | "start" | "stop";

/** Small enough to be taken every second or two. */
const SCREENSHOT = { type: "jpeg", quality: 60 };

export async function requestBrowser(
  browser: BrowserService,
  kind: BrowserRequest,
  query: URLSearchParams,
): Promise<unknown> {
  const target = Object.fromEntries(
    ["profile", "targetId"].flatMap((name) => {
      const value = query.get(name);
      return value === null || value === "" ? [] : [[name, value]];
    }),
  );
  if (kind === "screenshot") {
    const body = { ...target, ...SCREENSHOT };
    const answer = await browser.request({
      method: "POST",
      route: "/screenshot",
      body,
      accept: "image/jpeg",
    });
    if ("body" in answer) return answer.body;
    return reply(200, answer.bytes, { "content-type": answer.type, "cache-control": "no-store" });
  }
  const { targetId: _targetId, ...profile } = target;
  const method = kind === "start" || kind === "stop" ? "POST" : "GET";
  const input = method === "POST" ? { body: profile } : { query: profile };
  const answer = await browser.request({
    method,
    route: `/${kind}`,
    ...input,
    caller: "dashboard",
  });
  return "body" in answer ? answer.body : undefined;
}
