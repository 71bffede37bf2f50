/** Declares the routes for a page's messages and requests, traces, cookies, storage and overrides. */
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
const clearListed = (items: string) => flag(`Delete the listed ${items} afterwards`);
const clear = flag("Reset the setting");
const degrees = (max: number) => optional(Type.Number({ minimum: -max, maximum: max }));
const site = (description: string) => optional(Type.String({ ...WEB_ADDRESS, description }));
const statePath = Type.String({
  minLength: 1,
  description: "The name of the file, relative to <tmp>/portico",
});

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
    summary: "List the messages of the page's console",
    fields: {
      level: filled("Only messages of this level and above"),
      clear: clearListed("messages"),
    },
    what: "Reading the console",
    response: listOfTab("messages"),
  }),
  "GET /errors": declare({
    summary: "List the errors of a page's scripts",
    fields: { clear: clearListed("errors") },
    what: "Reading the errors",
    response: listOfTab("errors"),
  }),
  "GET /requests": declare({
    summary: "List the requests that a page sent",
    fields: {
      filter: text(
        "Only requests whose address contains this string, or matches it as a pattern with *",
      ),
      clear: clearListed("requests"),
    },
    what: "Reading the requests",
    response: listOfTab("requests"),
  }),
  "POST /trace/start": declare({
    summary: "Start a trace",
    fields: {
      screenshots: flag("Include screenshots (the default)"),
      snapshots: flag("Include page snapshots (the default)"),
      sources: flag("Include sources"),
    },
    what: "Starting the trace",
  }),
  "POST /trace/stop": declare({
    summary: "Stop a trace and write its file",
    fields: { path: filled("The name of the file, relative to <tmp>/portico") },
    what: "Writing the trace",
    limitMs: 90_000,
    response: WithPath,
  }),
  "POST /response/body": declare({
    summary: "Read the body of the response from an address",
    fields: {
      url: Filled,
      maxChars: count("The maximum number of characters"),
      next: flag("Wait for the next response instead of reading an earlier one"),
    },
    what: "Reading the response",
    response: withOk({ targetId: Type.String(), response: AnyObject }),
  }),
  "GET /cookies": declare({
    summary: "List the cookies",
    fields: { url: site("Only cookies that the browser would send to this address") },
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
    summary: "Read a page's local or session storage",
    fields: { kind, key: text("Only the item with this key") },
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
    summary: "Save cookies and storage to a file",
    fields: { path: statePath },
    what: "Saving the state",
    limitMs: 60_000,
  }),
  "POST /state/load": declare({
    summary: "Load cookies and storage from a file",
    fields: { path: statePath },
    what: "Loading the state",
    limitMs: 60_000,
    response: withOk({ cookies: Type.Integer(), origins: Type.Integer() }),
  }),
  "POST /set/offline": declare({
    summary: "Switch the browser offline or online",
    fields: { offline: Type.Boolean() },
    what: "Setting the offline mode",
  }),
  "POST /set/headers": declare({
    summary: "Set headers for every request",
    fields: { headers: optional(Type.Record(Text, Text)), clear },
    what: "Setting the headers",
  }),
  "POST /set/credentials": declare({
    summary: "Set credentials for HTTP authentication",
    fields: { username: optional(Text), password: optional(Text), clear },
    what: "Setting the credentials",
  }),
  "POST /set/geolocation": declare({
    summary: "Set the location that pages see",
    fields: {
      latitude: degrees(90),
      longitude: degrees(180),
      accuracy: optional(
        Type.Number({ minimum: 0, description: "The accuracy of the location in metres" }),
      ),
      origin: filled("The only site that may read the location"),
      clear,
    },
    what: "Setting the geolocation",
  }),
  "POST /set/permissions": declare({
    summary: "Grant permissions to sites",
    fields: {
      permissions: optional(Type.Array(Filled, { maxItems: 50 })),
      origin: filled("The only site that gets the permissions"),
      clear,
    },
    what: "Setting the permissions",
  }),
  "POST /set/media": declare({
    summary: "Set the colour scheme that pages see",
    fields: {
      colorScheme: optional(
        Type.Union([choice(["light", "dark", "no-preference", "none"]), Type.Null()]),
      ),
      clear,
    },
    what: "Setting the colour scheme",
  }),
  "POST /set/timezone": declare({
    summary: "Set the time zone that pages see",
    fields: { timezoneId: optional(Text), clear },
    what: "Setting the time zone",
  }),
  "POST /set/locale": declare({
    summary: "Set the language that pages see",
    fields: { locale: optional(Text), clear },
    what: "Setting the locale",
  }),
  "POST /set/device": declare({
    summary: "Emulate a device",
    fields: { name: optional(Type.Union([Text, Type.Null()])), clear },
    what: "Setting the device",
  }),
};
