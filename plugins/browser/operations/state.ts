/** Cookies and web storage. */
import { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { withTimeout } from "../deadline.ts";
import { toPublicError, summarizeError, isGone } from "../failures.ts";
import { readStorage, writeStorage } from "../tab/page-scripts.ts";
import { type CommonInput, type Op, getReadableTab } from "../op.ts";

const TIMEOUT_MS = 10_000;

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

/** Returns all cookies of the profile, or those that a request to `url` would send. */
export async function listCookies(op: Op, input: CommonInput & { url?: string }): Promise<object> {
  const cookieList = await withTimeout(
    TIMEOUT_MS,
    "Reading the cookies",
    op.session.context.cookies(input.url === undefined ? undefined : [input.url]),
  ).catch((error: unknown) => {
    throw toPublicError(error, "Reading the cookies");
  });
  return { ok: true, cookies: cookieList };
}

export async function setCookie(
  op: Op,
  input: CommonInput & { cookie: CookieInput },
): Promise<object> {
  const { cookie } = input;
  const { context } = op.session;
  const cookieToSet: CookieInput = { ...cookie };
  if (cookieToSet.url === undefined && cookieToSet.domain === undefined) {
    // A cookie without url and domain belongs to the tab's current page.
    const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
    if (!/^https?:/.test(tab.url)) throw errors.cookieWithoutPlace({ param: "cookie.url" });
    cookieToSet.url = tab.url;
  }
  if (cookieToSet.url !== undefined && cookieToSet.domain !== undefined) {
    throw errors.cookieWithBoth({ param: "cookie.url" });
  }
  const browserCookie = toBrowserCookie(cookieToSet);
  try {
    await withTimeout(TIMEOUT_MS, "Setting the cookie", context.addCookies([browserCookie]));
  } catch (error) {
    if (error instanceof PorticoError || isGone(error)) throw error;
    throw cookieError(summarizeError(error), error);
  }
  return { ok: true };
}

const cookieError = (reason: string, cause?: unknown): PorticoError =>
  errors.cookieRefused({ reason }, { param: "cookie", cause });

/**
 * Converts a cookie with a URL to one with domain and path, because the library would derive path and `secure` from the
 * URL alone.
 */
function toBrowserCookie({ url, ...cookie }: CookieInput): CookieInput {
  // The browser silently drops such a cookie.
  if (cookie.sameSite === "None" && !(cookie.secure ?? url?.startsWith("https:")))
    throw cookieError("with sameSite None it must be secure.");
  if (url === undefined) return { ...cookie, path: cookie.path ?? "/" };
  const { hostname, pathname, protocol } = new URL(url);
  const path = cookie.path ?? pathname.slice(0, pathname.lastIndexOf("/") + 1);
  return { ...cookie, domain: hostname, path, secure: cookie.secure ?? protocol === "https:" };
}

export async function clearCookies(op: Op): Promise<object> {
  await withTimeout(TIMEOUT_MS, "Clearing the cookies", op.session.context.clearCookies());
  return { ok: true };
}

type StorageKind = "local" | "session";

/** Runs an access to web storage in the tab's page. Storage belongs to a site, so a page of that site must be open. */
async function accessStorage<T>(
  op: Op,
  input: CommonInput,
  work: (tab: Awaited<ReturnType<typeof getReadableTab>>) => Promise<T>,
): Promise<T> {
  const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
  try {
    return await withTimeout(
      input.timeoutMs ?? TIMEOUT_MS,
      "The storage access",
      work(tab),
      errors.pageSilent,
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
    throw toPublicError(error, "The storage access");
  }
}

export async function readWebStorage(
  op: Op,
  input: CommonInput & { kind: StorageKind; key?: string },
): Promise<object> {
  const all = await accessStorage(op, input, ({ page }) => page.evaluate(readStorage, input.kind));
  const { key } = input;
  return {
    ok: true,
    values: Object.fromEntries(all.filter(([name]) => key === undefined || name === key)),
  };
}

export async function setStorageItem(
  op: Op,
  input: CommonInput & { kind: StorageKind; key: string; value: string },
): Promise<object> {
  const { kind, key, value } = input;
  await accessStorage(op, input, ({ page }) => page.evaluate(writeStorage, { kind, key, value }));
  return { ok: true };
}

export async function clearStorage(
  op: Op,
  input: CommonInput & { kind: StorageKind },
): Promise<object> {
  await accessStorage(op, input, ({ page }) =>
    page.evaluate(writeStorage, { kind: input.kind, clear: true }),
  );
  return { ok: true };
}
