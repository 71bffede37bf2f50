/** What a page said, traces, cookies, storage, overrides. */
import { Type } from "portico";
import { WEB_ADDRESS } from "portico/strings";
import {
  consoleMessages,
  pageErrors,
  requests,
  responseBody,
  traceStart,
  traceStop,
} from "../operations/debug.ts";
import * as overrides from "../operations/overrides.ts";
import {
  clearCookies,
  clearStorage,
  cookies,
  setCookie,
  setStorage,
  storage,
} from "../operations/state.ts";
import { loadState, saveState } from "../operations/storage-state.ts";
import { Bool, Filled, oneOf, optional, type Route, route, Text } from "./route.ts";

const kind = oneOf("local", "session");
const clear = optional(Bool);
const degrees = (most: number) => optional(Type.Number({ minimum: -most, maximum: most }));
const cookie = Type.Object({
  name: Filled,
  value: Text,
  url: optional(Type.String(WEB_ADDRESS)),
  domain: optional(Filled),
  path: optional(Filled),
  expires: optional(Type.Number()),
  httpOnly: optional(Bool),
  secure: optional(Bool),
  sameSite: optional(oneOf("Strict", "Lax", "None")),
});

export const data: Route[] = [
  route(
    "GET",
    "/console",
    { level: optional(Filled), clear },
    { what: "Reading the console" },
    consoleMessages,
  ),
  route("GET", "/errors", { clear }, { what: "Reading the errors" }, pageErrors),
  route(
    "GET",
    "/requests",
    { filter: optional(Text), clear },
    { what: "Reading the requests" },
    requests,
  ),
  route(
    "POST",
    "/trace/start",
    { screenshots: optional(Bool), snapshots: optional(Bool), sources: optional(Bool) },
    { what: "Starting the trace" },
    traceStart,
  ),
  route(
    "POST",
    "/trace/stop",
    { path: optional(Filled) },
    { what: "Writing the trace", limitMs: 90_000 },
    traceStop,
  ),
  route(
    "POST",
    "/response/body",
    { url: Filled, maxChars: optional(Type.Integer({ minimum: 1 })), next: optional(Bool) },
    { what: "Reading the response" },
    responseBody,
  ),
  route(
    "GET",
    "/cookies",
    { url: optional(Type.String(WEB_ADDRESS)) },
    { what: "Reading the cookies" },
    cookies,
  ),
  route("POST", "/cookies/set", { cookie }, { what: "Setting the cookie" }, setCookie),
  route("POST", "/cookies/clear", {}, { what: "Clearing the cookies" }, (op) => clearCookies(op)),
  route(
    "GET",
    "/storage/:kind",
    { kind, key: optional(Text) },
    { what: "Reading the storage" },
    storage,
  ),
  route(
    "POST",
    "/storage/:kind/set",
    { kind, key: Text, value: Text },
    { what: "Writing the storage" },
    setStorage,
  ),
  route("POST", "/storage/:kind/clear", { kind }, { what: "Clearing the storage" }, clearStorage),
  route(
    "POST",
    "/state/save",
    { path: Filled },
    { what: "Saving the state", limitMs: 60_000 },
    saveState,
  ),
  route(
    "POST",
    "/state/load",
    { path: Filled },
    { what: "Loading the state", limitMs: 60_000 },
    loadState,
  ),
  route(
    "POST",
    "/set/offline",
    { offline: Bool },
    { what: "Setting offline" },
    overrides.setOffline,
  ),
  route(
    "POST",
    "/set/headers",
    { headers: optional(Type.Record(Text, Text)), clear },
    { what: "Setting the headers" },
    overrides.setHeaders,
  ),
  route(
    "POST",
    "/set/credentials",
    { username: optional(Text), password: optional(Text), clear },
    { what: "Setting the credentials" },
    overrides.setCredentials,
  ),
  route(
    "POST",
    "/set/geolocation",
    {
      latitude: degrees(90),
      longitude: degrees(180),
      accuracy: optional(Type.Number({ minimum: 0 })),
      origin: optional(Filled),
      clear,
    },
    { what: "Setting the geolocation" },
    overrides.setGeolocation,
  ),
  route(
    "POST",
    "/set/permissions",
    {
      permissions: optional(Type.Array(Filled, { maxItems: 50 })),
      origin: optional(Filled),
      clear,
    },
    { what: "Setting the permissions" },
    overrides.setPermissions,
  ),
  route(
    "POST",
    "/set/media",
    {
      colorScheme: optional(
        Type.Union([oneOf("light", "dark", "no-preference", "none"), Type.Null()]),
      ),
      clear,
    },
    { what: "Setting the media" },
    overrides.setMedia,
  ),
  route(
    "POST",
    "/set/timezone",
    { timezoneId: optional(Text), clear },
    { what: "Setting the time zone" },
    overrides.setTimezone,
  ),
  route(
    "POST",
    "/set/locale",
    { locale: optional(Text), clear },
    { what: "Setting the locale" },
    overrides.setLocale,
  ),
  route(
    "POST",
    "/set/device",
    { name: optional(Type.Union([Text, Type.Null()])), clear },
    { what: "Setting the device" },
    overrides.setDevice,
  ),
];
