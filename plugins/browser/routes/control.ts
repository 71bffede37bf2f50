/** Lifecycle, profiles, tabs. */
import { Type } from "portico";
import { SOCKET_ADDRESS } from "portico/strings";
import { start, status, stop } from "../operations/lifecycle.ts";
import { closeTab, focusTab, listTabs, navigate, openTab } from "../operations/navigation.ts";
import {
  createProfile,
  deleteProfile,
  listProfiles,
  resetProfile,
} from "../operations/profiles.ts";
import { COLOR, LaunchSettings } from "../schema.ts";
import { Bool, Filled, oneOf, optional, Text, type Route, route } from "./route.ts";

export const control: Route[] = [
  route("GET", "/", {}, { what: "The status" }, (op) => status(op)),
  route(
    "POST",
    "/start",
    { headless: optional(Bool) },
    { what: "Starting the browser", limitMs: 90_000 },
    start,
  ),
  route("POST", "/stop", {}, { what: "Stopping the browser" }, (op) => stop(op)),
  route("GET", "/profiles", {}, { what: "Listing the profiles" }, (op) => listProfiles(op)),
  route(
    "POST",
    "/profiles/create",
    {
      name: Filled,
      color: optional(Type.String(COLOR)),
      cdpUrl: optional(Type.String(SOCKET_ADDRESS)),
      cdpPort: optional(Type.Integer({ minimum: 1024, maximum: 65535 })),
      driver: optional(oneOf("managed", "remote", "extension")),
      ...LaunchSettings,
    },
    { what: "Making the profile" },
    createProfile,
  ),
  route(
    "DELETE",
    "/profiles/:name",
    { name: Filled },
    { what: "Deleting the profile" },
    deleteProfile,
  ),
  route(
    "POST",
    "/reset-profile",
    { name: optional(Filled) },
    { what: "Resetting the profile" },
    resetProfile,
  ),
  route("GET", "/tabs", {}, { what: "Listing the tabs" }, (op) => listTabs(op)),
  route(
    "POST",
    "/tabs/open",
    { url: Filled },
    { what: "Opening the tab", limitMs: 120_000 },
    openTab,
  ),
  route("POST", "/tabs/focus", { targetId: Filled }, { what: "Focusing the tab" }, focusTab),
  route("DELETE", "/tabs/:targetId", { targetId: Filled }, { what: "Closing the tab" }, closeTab),
  route(
    "POST",
    "/navigate",
    { url: Text, waitUntil: optional(oneOf("load", "domcontentloaded", "networkidle", "commit")) },
    { what: "The navigation", limitMs: 120_000 },
    navigate,
  ),
];
