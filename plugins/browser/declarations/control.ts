/** Declares the routes for the browser's lifecycle, profiles and tabs. */
import { Type } from "portico";
import { SOCKET_ADDRESS } from "portico/strings";
import { COLOR, LaunchSettings } from "../schema.ts";
import { choice, declare, Filled, flag, OfProfile, OfTab, optional, Text } from "./declare.ts";

export const control = {
  "GET /": declare({
    summary: "Show whether a browser is running, and which one",
    about: "browser",
    what: "Reading the status",
    response: Type.Object({
      enabled: Type.Boolean(),
      profile: Type.String(),
      running: Type.Boolean(),
      driver: Type.String(),
      library: Type.Optional(Type.Boolean()),
    }),
  }),
  "POST /start": declare({
    summary: "Start the browser",
    about: "browser",
    fields: { headless: flag("Whether to run the browser without a window") },
    what: "Starting the browser",
    limitMs: 90_000,
    response: OfProfile,
  }),
  "POST /stop": declare({
    summary: "Stop the browser",
    about: "browser",
    what: "Stopping the browser",
    response: Type.Composite([OfProfile, Type.Object({ stopped: Type.Boolean() })]),
  }),
  "GET /profiles": declare({
    summary: "List all profiles",
    about: "profiles",
    what: "Listing the profiles",
    response: Type.Object({
      profiles: Type.Array(
        Type.Object({ name: Type.String(), driver: Type.String(), isDefault: Type.Boolean() }),
      ),
    }),
  }),
  "POST /profiles/create": declare({
    summary: "Create a profile",
    about: "profiles",
    fields: {
      name: Filled,
      color: optional(
        Type.String({
          ...COLOR,
          description: "The colour of the profile's window in hexadecimal form: #rrggbb",
        }),
      ),
      cdpUrl: optional(
        Type.String({
          ...SOCKET_ADDRESS,
          description: "The address of a browser that runs elsewhere",
        }),
      ),
      cdpPort: optional(Type.Integer({ minimum: 1024, maximum: 65535 })),
      driver: optional(
        choice(["managed", "remote", "extension"], {
          description: "The driver. Default: remote if cdpUrl is set, otherwise managed",
        }),
      ),
      ...LaunchSettings,
    },
    what: "Creating the profile",
    isLasting: true,
    response: OfProfile,
  }),
  "DELETE /profiles/:name": declare({
    summary: "Delete a profile; its data goes to the trash",
    about: "profiles",
    fields: { name: Filled },
    what: "Deleting the profile",
    isLasting: true,
    response: OfProfile,
  }),
  "POST /reset-profile": declare({
    summary: "Stop the browser and move the profile's data to the trash",
    about: "profiles",
    fields: { name: optional(Filled) },
    what: "Resetting the profile",
    isLasting: true,
    response: OfProfile,
  }),
  "GET /tabs": declare({
    summary: "List the open tabs",
    about: "tabs",
    what: "Listing the tabs",
    response: Type.Object({
      running: Type.Boolean(),
      tabs: Type.Array(
        Type.Object({ targetId: Type.String(), title: Type.String(), url: Type.String() }),
      ),
    }),
  }),
  "POST /tabs/open": declare({
    summary: "Open a tab",
    fields: { url: Filled },
    what: "Opening the tab",
    limitMs: 120_000,
    response: OfTab,
  }),
  "POST /tabs/focus": declare({
    summary: "Bring a tab to the front",
    about: "tabs",
    fields: { targetId: Filled },
    what: "Focusing the tab",
    response: OfTab,
  }),
  "DELETE /tabs/:targetId": declare({
    summary: "Close a tab",
    about: "tabs",
    fields: { targetId: Filled },
    what: "Closing the tab",
    response: OfTab,
  }),
  "POST /navigate": declare({
    summary: "Load an address in a tab",
    fields: {
      url: Text,
      waitUntil: optional(
        choice(["load", "domcontentloaded", "networkidle", "commit"], {
          description: "The event after which the page counts as loaded",
        }),
      ),
    },
    what: "The navigation",
    limitMs: 120_000,
    response: Type.Composite([OfTab, Type.Object({ url: Type.String() })]),
  }),
};
