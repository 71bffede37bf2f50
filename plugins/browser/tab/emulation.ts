/** Overrides of a profile: they hold over navigations and new tabs until they are cleared or the browser is stopped. */
import { errors } from "../errors.ts";
import type { BrowserContext, Device } from "../drivers/playwright.ts";
import { isGone } from "../failures.ts";
import { clientHints, navigatorPlatform } from "./client-hints.ts";
import type { Tab } from "./tab.ts";

interface Geolocation {
  latitude: number;
  longitude: number;
  accuracy?: number;
  origin?: string;
}

/** What sites may do without asking. */
interface Permissions {
  names: string[];
  /** Of this site only. */
  origin?: string;
}

export interface Overrides {
  permissions?: Permissions;
  offline?: boolean;
  headers?: Record<string, string>;
  credentials?: { username: string; password: string };
  geolocation?: Geolocation;
  colorScheme?: "light" | "dark" | "no-preference";
  timezoneId?: string;
  locale?: string;
  device?: Device;
}

/** What the library sets for all pages of a context, coming ones included. */
export async function applyToContext(
  context: BrowserContext,
  key: keyof Overrides,
  overrides: Overrides,
): Promise<void> {
  if (key === "offline") await context.setOffline(overrides.offline ?? false);
  if (key === "headers") await context.setExtraHTTPHeaders(overrides.headers ?? {});
  if (key === "credentials") await context.setHTTPCredentials(overrides.credentials ?? null);
  if (key === "permissions" || key === "geolocation") await grant(context, overrides);
  if (key === "geolocation") {
    const { latitude, longitude, accuracy } = overrides.geolocation ?? {
      latitude: 0,
      longitude: 0,
    };
    const place = overrides.geolocation && { latitude, longitude, accuracy };
    await context.setGeolocation(place ?? null);
  }
}

/** Permissions can only be taken back all at once: those of a place and those that were named are given together. */
async function grant(
  context: BrowserContext,
  { geolocation, permissions }: Overrides,
): Promise<void> {
  await context.clearPermissions();
  if (geolocation !== undefined)
    await context.grantPermissions(["geolocation"], { origin: geolocation.origin });
  if (permissions === undefined) return;
  const isSamePlace = geolocation !== undefined && geolocation.origin === permissions.origin;
  const names = isSamePlace ? [...permissions.names, "geolocation"] : permissions.names;
  await context.grantPermissions(names, { origin: permissions.origin });
}

/** What has to be set on each tab by itself. */
export async function applyToTab(
  tab: Tab,
  key: keyof Overrides,
  overrides: Overrides,
): Promise<void> {
  const { cdp, page } = tab;
  if (key === "colorScheme")
    await page.emulateMedia({ colorScheme: overrides.colorScheme ?? null });
  if (key === "timezoneId") await setTimezone(tab, overrides.timezoneId);
  if (key === "locale") {
    // The engine refuses to replace an override: it is taken away first.
    await cdp.send("Emulation.setLocaleOverride", {});
    if (overrides.locale !== undefined) {
      await cdp
        .send("Emulation.setLocaleOverride", { locale: overrides.locale })
        .catch((cause: unknown) => {
          if (isGone(cause)) throw cause;
          throw errors.localeNotSupported(
            { locale: JSON.stringify(overrides.locale) },
            { param: "locale", cause },
          );
        });
    }
    await setAgent(tab, overrides);
  }
  if (key === "device") await setDevice(tab, overrides);
}

async function setTimezone({ cdp }: Tab, timezoneId: string | undefined): Promise<void> {
  await cdp.send("Emulation.setTimezoneOverride", { timezoneId: "" });
  if (timezoneId === undefined) return;
  await cdp.send("Emulation.setTimezoneOverride", { timezoneId }).catch((cause: unknown) => {
    if (isGone(cause)) throw cause;
    throw errors.timezoneNotSupported(
      { timezone: JSON.stringify(timezoneId) },
      { param: "timezoneId", cause },
    );
  });
}

/** User agent and languages are one override: both are set together. */
async function setAgent({ cdp }: Tab, { device, locale }: Overrides): Promise<void> {
  // Without an own one its hints would be left out, too: the browser knows its own best.
  if (device === undefined && locale === undefined) {
    await cdp.send("Emulation.setUserAgentOverride", { userAgent: "" });
    return;
  }
  const userAgent = device?.userAgent ?? (await cdp.send("Browser.getVersion")).userAgent;
  await cdp.send("Emulation.setUserAgentOverride", {
    userAgent,
    acceptLanguage: locale,
    platform: device && navigatorPlatform(userAgent),
    userAgentMetadata: clientHints(userAgent, device?.isMobile ?? false),
  });
}

async function setDevice(tab: Tab, overrides: Overrides): Promise<void> {
  const { cdp } = tab;
  const { device } = overrides;
  await setAgent(tab, overrides);
  if (device === undefined) {
    await cdp.send("Emulation.clearDeviceMetricsOverride");
    await cdp.send("Emulation.setTouchEmulationEnabled", { enabled: false });
    return;
  }
  const { width, height } = device.viewport;
  const screen = device.screen ?? device.viewport;
  await cdp.send("Emulation.setDeviceMetricsOverride", {
    width,
    height,
    deviceScaleFactor: device.deviceScaleFactor,
    mobile: device.isMobile,
    screenWidth: screen.width,
    screenHeight: screen.height,
    screenOrientation:
      width > height
        ? { type: "landscapePrimary", angle: 90 }
        : { type: "portraitPrimary", angle: 0 },
  });
  await cdp.send("Emulation.setTouchEmulationEnabled", {
    enabled: device.hasTouch,
    maxTouchPoints: device.hasTouch ? 5 : 1,
  });
}

export const TAB_KEYS: readonly (keyof Overrides)[] = [
  "colorScheme",
  "timezoneId",
  "locale",
  "device",
];
export const CONTEXT_KEYS: readonly (keyof Overrides)[] = [
  "offline",
  "headers",
  "credentials",
  "geolocation",
  "permissions",
];
