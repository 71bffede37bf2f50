/** `portico browser`: cookies, storage, and what the browser pretends. */
import type { Command } from "portico/command-line";
import { command, flag, jsonOption, numberArg, TAB, text } from "./command.ts";

const CLEAR = flag("Take it back");

function storageCommands(kind: "local" | "session"): Command {
  return {
    name: kind,
    summary: `${kind === "local" ? "localStorage" : "sessionStorage"} of the page`,
    commands: [
      command({
        name: "get",
        summary: "All values, or one",
        args: [{ name: "key", optional: true }],
        options: TAB,
        request: ({ args }) => ({
          method: "GET",
          path: `/storage/${kind}`,
          query: { key: args["key"] },
        }),
        human: ({ values }: { values: Record<string, string> }) =>
          Object.entries(values).map(([key, value]) => `${key}=${value}`),
      }),
      command({
        name: "set",
        summary: "Set a value",
        args: [{ name: "key" }, { name: "value" }],
        options: TAB,
        request: ({ args }) => ({
          method: "POST",
          path: `/storage/${kind}/set`,
          body: { key: args["key"], value: args["value"] },
        }),
      }),
      command({
        name: "clear",
        summary: "Remove all values",
        options: TAB,
        request: () => ({ method: "POST", path: `/storage/${kind}/clear` }),
      }),
    ],
  };
}

export const stateCommands: Command[] = [
  {
    name: "cookies",
    summary: "Cookies of the profile",
    commands: [
      command({
        name: "list",
        summary: "All cookies",
        options: { site: text("Only those that a request to this address carries", "ADDRESS") },
        request: ({ options }) => ({
          method: "GET",
          path: "/cookies",
          query: { url: options["site"] as string },
        }),
        human: ({
          cookies,
        }: {
          cookies: { name: string; value: string; domain: string; path: string }[];
        }) => cookies.map((one) => `${one.domain}${one.path}  ${one.name}=${one.value}`),
      }),
      command({
        name: "set",
        summary: "Set a cookie",
        args: [{ name: "name" }, { name: "value" }],
        options: {
          ...TAB,
          site: text("The address that it is for (default: the page in the tab)", "ADDRESS"),
          "http-only": flag("Out of scripts' reach"),
          secure: flag("Over https only"),
        },
        request: ({ args, options }) => ({
          method: "POST",
          path: "/cookies/set",
          body: {
            cookie: {
              name: args["name"],
              value: args["value"],
              url: options["site"],
              httpOnly: options["http-only"],
              secure: options["secure"],
            },
          },
        }),
      }),
      command({
        name: "clear",
        summary: "Remove all cookies",
        request: () => ({ method: "POST", path: "/cookies/clear" }),
      }),
    ],
  },
  {
    name: "storage",
    summary: "Web storage of the page",
    commands: [storageCommands("local"), storageCommands("session")],
  },
  {
    name: "state",
    summary: "Cookies and storage of the profile, in a file",
    commands: [
      command({
        name: "save",
        summary: "Write them into a file",
        args: [{ name: "path", description: "Its name under <tmp>/portico" }],
        request: ({ args }) => ({
          method: "POST",
          path: "/state/save",
          body: { path: args["path"] },
        }),
        human: ({ path, cookies, origins }: { path: string; cookies: number; origins: number }) =>
          `${path} (${cookies} cookies, storage of ${origins} sites)`,
      }),
      command({
        name: "load",
        summary: "Put what such a file holds in place of them",
        args: [{ name: "path", description: "Under <tmp>/portico" }],
        request: ({ args }) => ({
          method: "POST",
          path: "/state/load",
          body: { path: args["path"] },
        }),
      }),
    ],
  },
  {
    name: "set",
    summary: "What the browser pretends, until it is cleared or stopped",
    commands: [
      command({
        name: "offline",
        summary: "No network",
        args: [{ name: "state", description: "on or off" }],
        request: ({ args }) => {
          if (!/^(on|off|true|false)$/.test(args["state"] ?? "")) throw new Error("Say on or off.");
          return {
            method: "POST",
            path: "/set/offline",
            body: { offline: /^(on|true)$/.test(args["state"] ?? "") },
          };
        },
      }),
      command({
        name: "headers",
        summary: "Further headers of every request",
        options: { "headers-json": text('An object: {"x-a":"1"}', "JSON"), clear: CLEAR },
        request: (io) => ({
          method: "POST",
          path: "/set/headers",
          body: { headers: jsonOption(io, "headers-json"), clear: io.options["clear"] },
        }),
      }),
      command({
        name: "credentials",
        summary: "User and password for sites that ask (HTTP authentication)",
        args: [
          { name: "user", optional: true },
          { name: "password", optional: true },
        ],
        options: { clear: CLEAR },
        request: ({ args, options }) => ({
          method: "POST",
          path: "/set/credentials",
          body: { username: args["user"], password: args["password"], clear: options["clear"] },
        }),
      }),
      ...["geolocation", "geo"].map((name) =>
        command({
          name,
          summary: name === "geo" ? "The same as geolocation" : "Where the browser is",
          args: [
            { name: "latitude", optional: true },
            { name: "longitude", optional: true },
          ],
          options: {
            origin: text("Only this site may ask", "ORIGIN"),
            accuracy: { type: "number", value: "M", description: "In metres" },
            clear: CLEAR,
          },
          request: (io) => ({
            method: "POST",
            path: "/set/geolocation",
            body: {
              latitude: numberArg(io, "latitude"),
              longitude: numberArg(io, "longitude"),
              accuracy: io.options["accuracy"],
              origin: io.options["origin"],
              clear: io.options["clear"],
            },
          }),
        }),
      ),
      command({
        name: "permissions",
        summary: "What sites may do without asking",
        args: [
          { name: "names", optional: true, description: "clipboard-read,notifications,camera" },
        ],
        options: { origin: text("Only this site", "ORIGIN"), clear: CLEAR },
        request: ({ args, options }) => ({
          method: "POST",
          path: "/set/permissions",
          body: {
            permissions: args["names"]?.split(","),
            origin: options["origin"],
            clear: options["clear"],
          },
        }),
      }),
      command({
        name: "media",
        summary: "The colour scheme",
        args: [{ name: "scheme", description: "light, dark, no-preference or none" }],
        request: ({ args }) => ({
          method: "POST",
          path: "/set/media",
          body: { colorScheme: args["scheme"] },
        }),
      }),
      command({
        name: "timezone",
        summary: "The time zone",
        args: [{ name: "zone", optional: true }],
        options: { clear: CLEAR },
        request: ({ args, options }) => ({
          method: "POST",
          path: "/set/timezone",
          body: { timezoneId: args["zone"], clear: options["clear"] },
        }),
      }),
      command({
        name: "locale",
        summary: "The language",
        args: [{ name: "locale", optional: true }],
        options: { clear: CLEAR },
        request: ({ args, options }) => ({
          method: "POST",
          path: "/set/locale",
          body: { locale: args["locale"], clear: options["clear"] },
        }),
      }),
      command({
        name: "device",
        summary: "A phone or another device",
        args: [{ name: "name", optional: true, description: "iPhone 14, Pixel 7, …" }],
        options: { clear: CLEAR },
        request: ({ args, options }) => ({
          method: "POST",
          path: "/set/device",
          body: { name: args["name"], clear: options["clear"] },
        }),
      }),
    ],
  },
];
