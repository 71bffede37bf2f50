/** What a page said, traces, cookies, storage, overrides. */
import { Type } from "portico";
import { AnyObject } from "portico/openapi";
import { WEB_ADDRESS } from "portico/strings";
import {
  choice,
  count,
  declare,
  Filled,
  filled,
  flag,
  listOfTab,
  optional,
  Text,
  text,
  withOk,
  WithPath,
} from "./declare.ts";

const kind = choice(["local", "session"]);
const forget = flag("Delete them afterwards");
const clear = flag("Reset the setting");
const degrees = (most: number) => optional(Type.Number({ minimum: -most, maximum: most }));
const site = (description: string) => optional(Type.String({ ...WEB_ADDRESS, description }));
const statePath = Type.String({ minLength: 1, description: "The file's name under <tmp>/portico" });

const cookie = Type.Object({
  name: Filled,
  value: Text,
  url: optional(Type.String(WEB_ADDRESS)),
  domain: optional(Filled),
  path: optional(Filled),
  expires: optional(Type.Number()),
  httpOnly: optional(Type.Boolean()),
  secure: optional(Type.Boolean()),
  sameSite: optional(choice(["Strict", "Lax", "None"])),
});

export const data = {
  "GET /console": declare({
    summary: "The console's messages",
    fields: { level: filled("Only this level and above"), clear: forget },
    what: "Reading the console",
    response: listOfTab("messages"),
  }),
  "GET /errors": declare({
    summary: "Errors of a page's scripts",
    fields: { clear: forget },
    what: "Reading the errors",
    response: listOfTab("errors"),
  }),
  "GET /requests": declare({
    summary: "What a page has requested",
    fields: {
      filter: text("Only addresses that contain this text, or match it with *"),
      clear: forget,
    },
    what: "Reading the requests",
    response: listOfTab("requests"),
  }),
  "POST /trace/start": declare({
    summary: "Start a trace",
    fields: {
      screenshots: flag("With pictures (the default)"),
      snapshots: flag("With page snapshots (the default)"),
      sources: flag("With sources"),
    },
    what: "Starting the trace",
  }),
  "POST /trace/stop": declare({
    summary: "Stop a trace and keep it",
    fields: { path: filled("The file's name under <tmp>/portico") },
    what: "Writing the trace",
    limitMs: 90_000,
    response: WithPath,
  }),
  "POST /response/body": declare({
    summary: "The body of the next response from an address",
    fields: {
      url: Filled,
      maxChars: count("At most this many characters"),
      next: flag("Wait for a new one"),
    },
    what: "Reading the response",
    response: withOk({ targetId: Type.String(), response: AnyObject }),
  }),
  "GET /cookies": declare({
    summary: "The cookies",
    fields: { url: site("Only cookies that a request to this address would send") },
    what: "Reading the cookies",
    response: withOk({ cookies: Type.Array(AnyObject) }),
  }),
  "POST /cookies/set": declare({
    summary: "Set a cookie",
    fields: { cookie },
    what: "Setting the cookie",
  }),
  "POST /cookies/clear": declare({
    summary: "Clear the cookies",
    what: "Clearing the cookies",
  }),
  "GET /storage/:kind": declare({
    summary: "A page's local or session storage",
    fields: { kind, key: text("Only this item") },
    what: "Reading the storage",
  }),
  "POST /storage/:kind/set": declare({
    summary: "Set an item of the storage",
    fields: { kind, key: Text, value: Text },
    what: "Writing the storage",
  }),
  "POST /storage/:kind/clear": declare({
    summary: "Clear the storage",
    fields: { kind },
    what: "Clearing the storage",
  }),
  "POST /state/save": declare({
    summary: "Save cookies and storage",
    fields: { path: statePath },
    what: "Saving the state",
    limitMs: 60_000,
  }),
  "POST /state/load": declare({
    summary: "Load cookies and storage",
    fields: { path: statePath },
    what: "Loading the state",
    limitMs: 60_000,
    response: withOk({ cookies: Type.Integer(), origins: Type.Integer() }),
  }),
  "POST /set/offline": declare({
    summary: "Turn the network off or on",
    fields: { offline: Type.Boolean() },
    what: "Setting offline",
  }),
  "POST /set/headers": declare({
    summary: "Headers that every request has",
    fields: { headers: optional(Type.Record(Text, Text)), clear },
    what: "Setting the headers",
  }),
  "POST /set/credentials": declare({
    summary: "Credentials for HTTP authentication",
    fields: { username: optional(Text), password: optional(Text), clear },
    what: "Setting the credentials",
  }),
  "POST /set/geolocation": declare({
    summary: "The location that pages see",
    fields: {
      latitude: degrees(90),
      longitude: degrees(180),
      accuracy: optional(Type.Number({ minimum: 0, description: "In metres" })),
      origin: filled("Only this site may ask"),
      clear,
    },
    what: "Setting the geolocation",
  }),
  "POST /set/permissions": declare({
    summary: "The permissions of sites",
    fields: {
      permissions: optional(Type.Array(Filled, { maxItems: 50 })),
      origin: filled("Only this site"),
      clear,
    },
    what: "Setting the permissions",
  }),
  "POST /set/media": declare({
    summary: "The color scheme that pages see",
    fields: {
      colorScheme: optional(
        Type.Union([choice(["light", "dark", "no-preference", "none"]), Type.Null()]),
      ),
      clear,
    },
    what: "Setting the media",
  }),
  "POST /set/timezone": declare({
    summary: "The time zone that pages see",
    fields: { timezoneId: optional(Text), clear },
    what: "Setting the time zone",
  }),
  "POST /set/locale": declare({
    summary: "The language that pages see",
    fields: { locale: optional(Text), clear },
    what: "Setting the locale",
  }),
  "POST /set/device": declare({
    summary: "Emulate a device",
    fields: { name: optional(Type.Union([Text, Type.Null()])), clear },
    what: "Setting the device",
  }),
};
