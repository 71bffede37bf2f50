/** Cookies and web storage. */
import { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { within } from "../deadline.ts";
import { failure, headline, isGone } from "../failures.ts";
import { readStorage, writeStorage } from "../tab/page-scripts.ts";
import { type Common, type Op, readableTab } from "../op.ts";

const STATE_MS = 10_000;

interface CookieInput {
  name: string;
  value: string;
  url?: string;
  domain?: string;
  path?: string;
  expires?: number;
  httpOnly?: boolean;
  secure?: boolean;
  sameSite?: "Strict" | "Lax" | "None";
}

/** All cookies of the profile, or those that a request to `url` would carry. */
export async function cookies(op: Op, input: Common & { url?: string }): Promise<object> {
  const found = await within(
    STATE_MS,
    "Reading the cookies",
    op.session.context.cookies(input.url === undefined ? undefined : [input.url]),
  ).catch((error: unknown) => {
    throw failure(error, "Reading the cookies");
  });
  return { ok: true, cookies: found };
}

export async function setCookie(op: Op, input: Common & { cookie: CookieInput }): Promise<object> {
  const { cookie } = input;
  const { context } = op.session;
  const given: CookieInput = { ...cookie };
  if (given.url === undefined && given.domain === undefined) {
    // Without a place the cookie belongs to the page that the tab shows.
    const tab = await readableTab(op, input.targetId, input.timeoutMs);
    if (!/^https?:/.test(tab.url)) throw errors.cookieWithoutPlace({ param: "cookie.url" });
    given.url = tab.url;
  }
  if (given.url !== undefined && given.domain !== undefined) {
    throw errors.cookieWithBoth({ param: "cookie.url" });
  }
  const placed = inItsPlace(given);
  try {
    await within(STATE_MS, "Setting the cookie", context.addCookies([placed]));
  } catch (error) {
    if (error instanceof PorticoError || isGone(error)) throw error;
    throw refusedCookie(headline(error), error);
  }
  return { ok: true };
}

const refusedCookie = (reason: string, cause?: unknown): PorticoError =>
  errors.cookieRefused({ reason }, { param: "cookie", cause });

/** By domain and path: of a cookie with an address the library takes both, and `secure`, from that alone. */
function inItsPlace({ url, ...cookie }: CookieInput): CookieInput {
  // The browser leaves it out without a word.
  if (cookie.sameSite === "None" && !(cookie.secure ?? url?.startsWith("https:")))
    throw refusedCookie("with sameSite None it must be secure.");
  if (url === undefined) return { ...cookie, path: cookie.path ?? "/" };
  const { hostname, pathname, protocol } = new URL(url);
  const path = cookie.path ?? pathname.slice(0, pathname.lastIndexOf("/") + 1);
  return { ...cookie, domain: hostname, path, secure: cookie.secure ?? protocol === "https:" };
}

export async function clearCookies(op: Op): Promise<object> {
  await within(STATE_MS, "Clearing the cookies", op.session.context.clearCookies());
  return { ok: true };
}

type StorageKind = "local" | "session";

/** Web storage belongs to a site: a page of it must be open. */
async function inPage<T>(
  op: Op,
  input: Common,
  work: (tab: Awaited<ReturnType<typeof readableTab>>) => Promise<T>,
): Promise<T> {
  const tab = await readableTab(op, input.targetId, input.timeoutMs);
  try {
    return await within(
      input.timeoutMs ?? STATE_MS,
      "The storage access (the page does not respond)",
      work(tab),
    );
  } catch (error) {
    if (
      /SecurityError|Access is denied|not available|Storage is disabled/i.test(
        String((error as Error).message),
      )
    ) {
      throw errors.noWebStorage({ cause: error });
    }
    if (/QuotaExceeded|exceeded the quota/i.test(String((error as Error).message))) {
      throw errors.webStorageFull({ cause: error });
    }
    throw failure(error, "The storage access");
  }
}

export async function storage(
  op: Op,
  input: Common & { kind: StorageKind; key?: string },
): Promise<object> {
  const all = await inPage(op, input, ({ page }) => page.evaluate(readStorage, input.kind));
  const { key } = input;
  return {
    ok: true,
    values: Object.fromEntries(all.filter(([one]) => key === undefined || one === key)),
  };
}

export async function setStorage(
  op: Op,
  input: Common & { kind: StorageKind; key: string; value: string },
): Promise<object> {
  const { kind, key, value } = input;
  await inPage(op, input, ({ page }) => page.evaluate(writeStorage, { kind, key, value }));
  return { ok: true };
}

export async function clearStorage(op: Op, input: Common & { kind: StorageKind }): Promise<object> {
  await inPage(op, input, ({ page }) =>
    page.evaluate(writeStorage, { kind: input.kind, clear: true }),
  );
  return { ok: true };
}
