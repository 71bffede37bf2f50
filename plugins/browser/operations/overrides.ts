/** POST /set/*: sets overrides. Each one applies until it is cleared or the browser is stopped. */
import { didYouMean, PorticoError } from "portico";
import { parseUrl } from "portico/strings";
import { errors } from "../errors.ts";
import type { Overrides } from "../tab/emulation.ts";
import { summarizeError, isGone } from "../failures.ts";
import type { Op } from "../op.ts";

async function setOverride<K extends keyof Overrides>(
  op: Op,
  key: K,
  value: Overrides[K] | undefined,
  param: string = key,
): Promise<{ ok: true }> {
  try {
    await op.session.setOverride(key, value);
  } catch (error) {
    if (error instanceof PorticoError || isGone(error)) throw error;
    throw errors.overrideRefused({ reason: summarizeError(error) }, { param, cause: error });
  }
  return { ok: true };
}

export const setOffline = (op: Op, input: { offline: boolean }): Promise<object> =>
  setOverride(op, "offline", input.offline || undefined);

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
/** Headers that belong to the connection. If one of them is set, the browser cannot load anything. */
const CONNECTION_HEADERS =
  /^(connection|content-length|cookie2|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

export async function setHeaders(
  op: Op,
  input: { headers?: Record<string, string>; clear?: boolean },
): Promise<object> {
  if (input.headers === undefined && !input.clear)
    throw errors.headersMissing({ param: "headers" });
  const headers = input.clear ? {} : (input.headers ?? {});
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name))
      throw errors.badHeaderName({ name: JSON.stringify(name) }, { param: `headers.${name}` });
    if (CONNECTION_HEADERS.test(name))
      throw errors.connectionHeader({ name }, { param: `headers.${name}` });
    if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value))
      throw errors.badHeaderValue({ name }, { param: `headers.${name}` });
  }
  return setOverride(op, "headers", Object.keys(headers).length === 0 ? undefined : headers);
}

export async function setCredentials(
  op: Op,
  input: { username?: string; password?: string; clear?: boolean },
): Promise<object> {
  const { username, password, clear } = input;
  if (clear) return setOverride(op, "credentials", undefined);
  if (username === undefined || password === undefined) {
    throw errors.credentialsMissing({ param: username === undefined ? "username" : "password" });
  }
  return setOverride(op, "credentials", { username, password });
}

interface GeolocationInput {
  latitude?: number;
  longitude?: number;
  accuracy?: number;
  origin?: string;
  clear?: boolean;
}

export async function setGeolocation(op: Op, input: GeolocationInput): Promise<object> {
  const { latitude, longitude, accuracy, origin, clear } = input;
  if (clear) return setOverride(op, "geolocation", undefined);
  if (latitude === undefined || longitude === undefined) {
    throw errors.positionMissing({ param: latitude === undefined ? "latitude" : "longitude" });
  }
  if (origin !== undefined && !/^https?:$/.test(parseUrl(origin)?.protocol ?? ""))
    throw errors.badOrigin({ param: "origin" });
  return setOverride(op, "geolocation", {
    latitude,
    longitude,
    accuracy,
    origin: origin && new URL(origin).origin,
  });
}

export async function setPermissions(
  op: Op,
  input: { permissions?: string[]; origin?: string; clear?: boolean },
): Promise<object> {
  const { permissions = [], origin, clear } = input;
  if (input.permissions === undefined && !clear)
    throw errors.permissionsMissing({ param: "permissions" });
  if (origin !== undefined && !/^https?:$/.test(parseUrl(origin)?.protocol ?? ""))
    throw errors.badOrigin({ param: "origin" });
  if (clear || permissions.length === 0) return setOverride(op, "permissions", undefined);
  return setOverride(op, "permissions", {
    names: permissions,
    origin: origin && new URL(origin).origin,
  });
}

export function setMedia(
  op: Op,
  input: { colorScheme?: string | null; clear?: boolean },
): Promise<object> {
  const isCleared = input.clear || input.colorScheme === null || input.colorScheme === "none";
  if (!isCleared && input.colorScheme === undefined)
    throw errors.colorSchemeMissing({ param: "colorScheme" });
  return setOverride(
    op,
    "colorScheme",
    isCleared ? undefined : (input.colorScheme as "light" | "dark" | "no-preference"),
  );
}

export async function setTimezone(
  op: Op,
  input: { timezoneId?: string; clear?: boolean },
): Promise<object> {
  const { timezoneId } = input;
  if (input.clear || timezoneId === "") return setOverride(op, "timezoneId", undefined);
  if (timezoneId === undefined) throw errors.timezoneMissing({ param: "timezoneId" });
  let zone = timezoneId;
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: timezoneId }).resolvedOptions();
    // The browser is case-sensitive here. An older name of a zone (US/Pacific) is passed on unchanged.
    if (timeZone.toLowerCase() === timezoneId.toLowerCase()) zone = timeZone;
  } catch (error) {
    throw errors.unknownTimezone(
      { timezone: JSON.stringify(timezoneId.slice(0, 80)) },
      { param: "timezoneId", cause: error },
    );
  }
  return setOverride(op, "timezoneId", zone);
}

export async function setLocale(
  op: Op,
  input: { locale?: string; clear?: boolean },
): Promise<object> {
  const { locale } = input;
  if (input.clear || locale === "") return setOverride(op, "locale", undefined);
  if (locale === undefined) throw errors.localeMissing({ param: "locale" });
  let canonical: string | undefined;
  try {
    [canonical] = Intl.getCanonicalLocales(locale);
  } catch (error) {
    throw errors.unknownLocale(
      { locale: JSON.stringify(locale.slice(0, 80)) },
      { param: "locale", cause: error },
    );
  }
  return setOverride(op, "locale", canonical);
}

export async function setDevice(
  op: Op,
  input: { name?: string | null; clear?: boolean },
): Promise<object> {
  const { name } = input;
  if (input.clear || name === "" || name === null) return setOverride(op, "device", undefined);
  if (name === undefined) throw errors.deviceMissing({ param: "name" });
  const { devices } = await op.deps.library();
  const names = Object.keys(devices);
  const deviceName = names.find((candidate) => candidate.toLowerCase() === name.toLowerCase());
  if (deviceName === undefined) {
    const suggestion = didYouMean(name, names);
    const hint =
      suggestion === undefined
        ? " Names of devices are, for example, iPhone 14, Pixel 7 and Desktop Chrome."
        : ` Did you mean ${suggestion}?`;
    throw errors.unknownDevice(
      { device: JSON.stringify(name.slice(0, 80)), hint },
      { param: "name" },
    );
  }
  return setOverride(op, "device", devices[deviceName]!, "name");
}
