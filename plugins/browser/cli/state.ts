/** The commands of `portico browser` for cookies, storage and overrides. */
import type { Command, CommandIO } from "portico/command-line";
import {
  browserCommand,
  commonMembers,
  flag,
  jsonOption,
  numberArgument,
  TAB,
  text,
} from "./command.ts";

interface CookieView {
  name: string;
  value: string;
  domain: string;
  path: string;
}

const CLEAR = { clear: {} };

const listCookies = browserCommand("GET /cookies", {
  name: "list",
  summary: "List all cookies",
  options: { site: { member: "url", value: "ADDRESS" } },
  view: ({ cookies }: { cookies: CookieView[] }) =>
    cookies.map(({ domain, path, name, value }) => `${domain}${path}  ${name}=${value}`),
});

const setCookie = browserCommand("POST /cookies/set", {
  name: "set",
  args: [{ name: "name" }, { name: "value" }],
  options: {
    ...TAB,
    site: text("The address that the cookie is for (default: the page in the tab)", "ADDRESS"),
    "http-only": flag("Hide the cookie from scripts"),
    secure: flag("Send the cookie over HTTPS only"),
  },
  members: cookieMembers,
});

const clearCookies = browserCommand("POST /cookies/clear", {
  name: "clear",
  summary: "Remove all cookies",
});

function storageCommands(kind: "local" | "session"): Command {
  const constants = { kind };
  const get = browserCommand("GET /storage/:kind", {
    name: "get",
    summary: "Show all values, or the value of one key",
    constants,
    args: [{ name: "key", optional: true }],
    options: TAB,
    view: ({ values }: { values: Record<string, string> }) =>
      Object.entries(values).map(([key, value]) => `${key}=${value}`),
  });
  const set = browserCommand("POST /storage/:kind/set", {
    name: "set",
    summary: "Set a value",
    constants,
    args: [{ name: "key" }, { name: "value" }],
    options: TAB,
  });
  const clear = browserCommand("POST /storage/:kind/clear", {
    name: "clear",
    summary: "Remove all values",
    constants,
    options: TAB,
  });
  return {
    name: kind,
    summary: `Read and change the ${kind}Storage of the page`,
    commands: [get, set, clear],
  };
}

const saveState = browserCommand("POST /state/save", {
  name: "save",
  summary: "Save cookies and storage to a file",
  args: [{ name: "path", description: "The name of the file, relative to <tmp>/portico" }],
  view: ({ path, cookies, origins }: { path: string; cookies: number; origins: number }) =>
    `${path} (${cookies} cookies, storage of ${origins} sites)`,
});

const loadState = browserCommand("POST /state/load", {
  name: "load",
  summary: "Replace cookies and storage with those in a saved file",
  args: [{ name: "path", description: "The name of the saved file, relative to <tmp>/portico" }],
});

const offline = browserCommand("POST /set/offline", {
  name: "offline",
  summary: "Switch the browser offline or online",
  args: [
    {
      name: "state",
      member: "offline",
      description: "on: the browser is offline; off: it is online",
      read: readSwitch,
    },
  ],
});

const headers = browserCommand("POST /set/headers", {
  name: "headers",
  options: {
    "headers-json": {
      ...jsonOption("headers-json", 'The headers, as a JSON object: {"x-a":"1"}'),
      member: "headers",
    },
    ...CLEAR,
  },
});

const credentials = browserCommand("POST /set/credentials", {
  name: "credentials",
  summary: "Set the user name and password for HTTP authentication",
  args: [
    { name: "user", member: "username", optional: true },
    { name: "password", optional: true },
  ],
  options: CLEAR,
});

function geolocation(name: string, summary: string): Command {
  return browserCommand("POST /set/geolocation", {
    name,
    summary,
    args: [
      numberArgument("latitude", { optional: true }),
      numberArgument("longitude", { optional: true }),
    ],
    options: { origin: { value: "ORIGIN" }, accuracy: { value: "M" }, ...CLEAR },
  });
}

const permissions = browserCommand("POST /set/permissions", {
  name: "permissions",
  args: [
    {
      name: "names",
      member: "permissions",
      optional: true,
      description: "The permissions, separated by commas: clipboard-read,notifications,camera",
      read: (names: string) => names.split(","),
    },
  ],
  options: { origin: { value: "ORIGIN" }, ...CLEAR },
});

const media = browserCommand("POST /set/media", {
  name: "media",
  summary: "Set the colour scheme that pages see",
  args: [
    {
      name: "scheme",
      member: "colorScheme",
      description: "The colour scheme: light, dark, no-preference or none",
    },
  ],
});

const timezone = browserCommand("POST /set/timezone", {
  name: "timezone",
  summary: "Set the time zone that pages see",
  args: [{ name: "zone", member: "timezoneId", optional: true }],
  options: CLEAR,
});

const locale = browserCommand("POST /set/locale", {
  name: "locale",
  summary: "Set the language that pages see",
  args: [{ name: "locale", optional: true }],
  options: CLEAR,
});

const device = browserCommand("POST /set/device", {
  name: "device",
  summary: "Emulate a phone or another device",
  args: [
    { name: "name", optional: true, description: "The name of the device: iPhone 14, Pixel 7, …" },
  ],
  options: CLEAR,
});

export const stateCommands: Command[] = [
  {
    name: "cookies",
    summary: "List, set and clear the cookies of the profile",
    commands: [listCookies, setCookie, clearCookies],
  },
  {
    name: "storage",
    summary: "Read and change the web storage of the page",
    commands: [storageCommands("local"), storageCommands("session")],
  },
  {
    name: "state",
    summary: "Save the cookies and storage of the profile to a file, or load them from it",
    commands: [saveState, loadState],
  },
  {
    name: "set",
    summary:
      "Change emulation settings, which stay active until you clear them or the browser stops",
    commands: [
      offline,
      headers,
      credentials,
      geolocation("geolocation", "Set the location that pages see"),
      geolocation("geo", "Set the location that pages see (short for `set geolocation`)"),
      permissions,
      media,
      timezone,
      locale,
      device,
    ],
  },
];

/** Builds the body of a cookie, whose fields are nested in one field. */
function cookieMembers(io: CommandIO): Record<string, unknown> {
  const { args, options } = io;
  return {
    ...commonMembers(io),
    cookie: {
      name: args["name"],
      value: args["value"],
      url: options["site"],
      httpOnly: options["http-only"],
      secure: options["secure"],
    },
  };
}

function readSwitch(state: string): boolean {
  if (/^(on|true)$/.test(state)) return true;
  if (/^(off|false)$/.test(state)) return false;
  throw new Error("Pass on or off.");
}
