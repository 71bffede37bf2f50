import { type PluginContext, Type } from "portico";
import { ownWords } from "portico/agent";
import { clip, decodeText } from "portico/strings";
import { createGuard, type GuardedResponse, guardedFetch } from "portico/egress";
import { errors } from "../errors.ts";
import type { WebSettings } from "../schema.ts";

const MAX_CHARS = 40_000;

const parameters = Type.Object({
  url: Type.String({
    minLength: 1,
    maxLength: 8_192,
    description: "The address of the page: http or https",
  }),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "The offset in the text from which to continue reading",
    }),
  ),
});

/** Adds the tool `web`, with which the agent reads pages within the limits of the egress guard. */
export function addWeb(
  ctx: PluginContext,
  settings: () => WebSettings,
  isSandboxed: () => boolean,
): void {
  const guardFor = (isPublicOnly: () => boolean) =>
    createGuard({
      policy: () => ({
        allowPrivate: settings().allowPrivateNetwork && !isPublicOnly(),
        allowedHostnames: isPublicOnly() ? [] : settings().allowedHostnames,
        hostnameAllowlist: settings().hostnameAllowlist,
      }),
      ownPorts: () => ctx.ports(),
      code: "address_blocked",
    });
  const guards = { configured: guardFor(isSandboxed), public: guardFor(() => true) };
  ctx.tool({
    name: "web",
    description:
      "Fetches a page or document from the web as text. Scripts are not run: for pages that need them, use the browser.",
    parameters,
    timeoutMs: 120_000,
    principals: ["key", "webhook", "poll"],
    async handler({ url, offset = 0 }, { signal, access }) {
      const guard = guards[access.network];
      const { maxBytes, timeoutMs } = settings();
      const headers = {
        accept: "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5",
        "user-agent": `Portico/${ctx.version}`,
      };
      const response = await guardedFetch(guard, url, { headers, maxBytes, timeoutMs, signal });
      const { title, text } = await extractText(response);
      const part = text.slice(offset, offset + MAX_CHARS);
      const end = offset + part.length;
      // The server chooses the target of a redirect, so this line is not the gateway's own text.
      const redirectNotice = response.url === url ? [] : [`(redirected to ${response.url})`];
      const titleLines = offset === 0 && title !== "" ? [title, ""] : [];
      return [
        ownWords(`${response.status} ${url}`),
        { type: "text", text: [...redirectNotice, ...titleLines, part].join("\n") },
        ...(end < text.length ? [ownWords(`(continues at offset ${end} of ${text.length})`)] : []),
      ];
    },
  });
}

async function extractText(response: GuardedResponse): Promise<{ title: string; text: string }> {
  const { status, headers, body } = response;
  const type = (headers["content-type"] ?? "").toLowerCase();
  const text = decodeText(body, type);
  const isHtml =
    /^(text\/html|application\/xhtml)/.test(type) ||
    (type === "" && /^\s*<(!doctype|html)/i.test(text.slice(0, 500)));
  const page = isHtml
    ? (await import("./page-text.ts")).extractPageText(text, response.url)
    : { title: "", text };
  if (status < 200 || status > 299)
    throw errors.pageError({ status, text: clip(page.title || page.text, 300) });
  if (!isHtml && body.includes(0))
    throw errors.notATextPage(
      { type: type || "an unknown type", bytes: body.length },
      { param: "url" },
    );
  return page;
}
