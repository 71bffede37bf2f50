/**
 * Applies a profile's overrides. They persist across navigations and new tabs until they are cleared or the browser is
 * stopped.
 */
import { errors } from "../errors.ts";
import type { BrowserContext, Device } from "../drivers/playwright.ts";
import { isGone } from "../failures.ts";
import { deriveClientHints, deriveNavigatorPlatform } from "./client-hints.ts";
import type { Tab } from "./tab.ts";

interface Geolocation {
  latitude: number;
  longitude: number;
  accuracy?: number;
  origin?: string;
}

/** Permissions that sites have without asking the user. */
interface Permissions {
  names: string[];
  /** The site that has them; by default, all sites. */
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

/** Applies an override that the library sets for all pages of a context, including later ones. */
export async function applyToContext(
  context: BrowserContext,
  key: keyof Overrides,
  overrides: Overrides,
): Promise<void> {
  if (key === "offline") await context.setOffline(overrides.offline ?? false);
  if (key === "headers") await context.setExtraHTTPHeaders(overrides.headers ?? {});
  if (key === "credentials") await context.setHTTPCredentials(overrides.credentials ?? null);
  if (key === "permissions" || key === "geolocation") await grantPermissions(context, overrides);
  if (key === "geolocation") {
    const { latitude, longitude, accuracy } = overrides.geolocation ?? {
      latitude: 0,
      longitude: 0,
    };
    const position = overrides.geolocation && { latitude, longitude, accuracy };
    await context.setGeolocation(position ?? null);
  }
}

/**
 * Grants the permissions of `geolocation` and `permissions` together, because permissions can only be revoked all at
 * once.
 */
async function grantPermissions(
  context: BrowserContext,
  { geolocation, permissions }: Overrides,
): Promise<void> {
  await context.clearPermissions();
  if (geolocation !== undefined)
    await context.grantPermissions(["geolocation"], { origin: geolocation.origin });
  if (permissions === undefined) return;
  const isSameOrigin = geolocation !== undefined && geolocation.origin === permissions.origin;
  const names = isSameOrigin ? [...permissions.names, "geolocation"] : permissions.names;
  await context.grantPermissions(names, { origin: permissions.origin });
}

/** Applies an override that must be set on each tab. */
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
    // The engine refuses to replace an override, so the old one is removed first.
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
    await setUserAgent(tab, overrides);
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

/** Sets user agent and languages together, because they are one override of the engine. */
async function setUserAgent({ cdp }: Tab, { device, locale }: Overrides): Promise<void> {
  // An empty user agent restores the browser's own client hints, which an explicit one would replace.
  if (device === undefined && locale === undefined) {
    await cdp.send("Emulation.setUserAgentOverride", { userAgent: "" });
    return;
  }
  const userAgent = device?.userAgent ?? (await cdp.send("Browser.getVersion")).userAgent;
  await cdp.send("Emulation.setUserAgentOverride", {
    userAgent,
    acceptLanguage: locale,
    platform: device && deriveNavigatorPlatform(userAgent),
    userAgentMetadata: deriveClientHints(userAgent, device?.isMobile ?? false),
  });
}

async function setDevice(tab: Tab, overrides: Overrides): Promise<void> {
  const { cdp } = tab;
  const { device } = overrides;
  await setUserAgent(tab, overrides);
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
