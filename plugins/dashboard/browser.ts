/** What the page may ask of the browser: looking, starting, stopping. Nothing that steers a page. */
import { reply } from "portico";
import type { BrowserService } from "portico/browser";

type UsageQuery = "profiles" | "tabs" | "screenshot" | "start" | "stop";

/** Light enough to be taken every second or two. */
const PICTURE = { type: "jpeg", quality: 60 };

export async function askBrowser(
  browser: BrowserService,
  what: UsageQuery,
  query: URLSearchParams,
): Promise<unknown> {
  const named = Object.fromEntries(
    ["profile", "targetId"].flatMap((name) => {
      const value = query.get(name);
      return value === null || value === "" ? [] : [[name, value]];
    }),
  );
  if (what === "screenshot") {
    const body = { ...named, ...PICTURE };
    const answer = await browser.request({
      method: "POST",
      route: "/screenshot",
      body,
      accept: "image/jpeg",
    });
    if ("body" in answer) return answer.body;
    return reply(200, answer.bytes, { "content-type": answer.type, "cache-control": "no-store" });
  }
  const { targetId: _targetId, ...profile } = named;
  const method = what === "start" || what === "stop" ? "POST" : "GET";
  const input = method === "POST" ? { body: profile } : { query: profile };
  const answer = await browser.request({
    method,
    route: `/${what}`,
    ...input,
    caller: "dashboard",
  });
  return "body" in answer ? answer.body : undefined;
}
