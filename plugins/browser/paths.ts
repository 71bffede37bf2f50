/** Every route of the control API. Kept apart from the routes themselves, which are loaded at the first request. */
import type { Method } from "portico";

/**
 * What a route is about: the list of profiles and their data, the browser as a whole, its tabs as a list, or (where
 * nothing is said) what a page shows, which takes a tab and as a rule the automation library.
 */
type About = "profiles" | "browser" | "tabs" | "page";

export const PATHS: readonly (readonly [Method, string, About?])[] = [
  ["GET", "/", "browser"],
  ["POST", "/start", "browser"],
  ["POST", "/stop", "browser"],
  ["GET", "/profiles", "profiles"],
  ["POST", "/profiles/create", "profiles"],
  ["DELETE", "/profiles/:name", "profiles"],
  ["POST", "/reset-profile", "profiles"],
  ["GET", "/tabs", "tabs"],
  ["POST", "/tabs/open"],
  ["POST", "/tabs/focus", "tabs"],
  ["DELETE", "/tabs/:targetId", "tabs"],
  ["GET", "/snapshot"],
  ["POST", "/screenshot"],
  ["POST", "/pdf"],
  ["POST", "/navigate"],
  ["POST", "/act"],
  ["POST", "/hooks/file-chooser"],
  ["POST", "/hooks/dialog"],
  ["POST", "/download"],
  ["POST", "/wait/download"],
  ["GET", "/console"],
  ["GET", "/errors"],
  ["GET", "/requests"],
  ["POST", "/trace/start"],
  ["POST", "/trace/stop"],
  ["POST", "/highlight"],
  ["POST", "/response/body"],
  ["GET", "/cookies"],
  ["POST", "/cookies/set"],
  ["POST", "/cookies/clear"],
  ["GET", "/storage/:kind"],
  ["POST", "/storage/:kind/set"],
  ["POST", "/storage/:kind/clear"],
  ["POST", "/state/save"],
  ["POST", "/state/load"],
  ["POST", "/set/offline"],
  ["POST", "/set/headers"],
  ["POST", "/set/credentials"],
  ["POST", "/set/geolocation"],
  ["POST", "/set/permissions"],
  ["POST", "/set/media"],
  ["POST", "/set/timezone"],
  ["POST", "/set/locale"],
  ["POST", "/set/device"],
];

const ABOUT = new Map(PATHS.map(([, path, about = "page"]) => [path, about]));

export const aboutOf = (path: string): About => ABOUT.get(path) ?? "page";
