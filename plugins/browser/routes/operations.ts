/** Maps each route of the control API to its operation. Loaded at the first request. */
import { armDialog, armFileChooser } from "../actions/uploads.ts";
import type { Input } from "../declarations/declare.ts";
import type { DECLARATIONS, RouteName } from "../declarations/routes.ts";
import type { Op } from "../op.ts";
import { act } from "../operations/act.ts";
import { highlight, pdf, screenshot } from "../operations/capture.ts";
import {
  consoleMessages,
  pageErrors,
  requests,
  responseBody,
  traceStart,
  traceStop,
} from "../operations/debug.ts";
import { download, waitDownload } from "../operations/downloads.ts";
import { start, status, stop } from "../operations/lifecycle.ts";
import { closeTab, focusTab, listTabs, navigate, openTab } from "../operations/navigation.ts";
import * as overrides from "../operations/overrides.ts";
import {
  createProfile,
  deleteProfile,
  listProfiles,
  resetProfile,
} from "../operations/profiles.ts";
import { snapshot } from "../operations/snapshot.ts";
import {
  clearCookies,
  clearStorage,
  cookies,
  setCookie,
  setStorage,
  storage,
} from "../operations/state.ts";
import { loadState, saveState } from "../operations/storage-state.ts";

type Operations = {
  [Name in RouteName]: (
    op: Op,
    input: Input<(typeof DECLARATIONS)[Name]["fields"]>,
  ) => Promise<object>;
};

const operations: Operations = {
  "GET /": (op) => status(op),
  "POST /start": start,
  "POST /stop": (op) => stop(op),
  "GET /profiles": (op) => listProfiles(op),
  "POST /profiles/create": createProfile,
  "DELETE /profiles/:name": deleteProfile,
  "POST /reset-profile": resetProfile,
  "GET /tabs": (op) => listTabs(op),
  "POST /tabs/open": openTab,
  "POST /tabs/focus": focusTab,
  "DELETE /tabs/:targetId": closeTab,
  "POST /navigate": navigate,
  "GET /snapshot": snapshot,
  "POST /screenshot": screenshot,
  "POST /pdf": pdf,
  "POST /act": act,
  "POST /hooks/file-chooser": armFileChooser,
  "POST /hooks/dialog": armDialog,
  "POST /download": download,
  "POST /wait/download": waitDownload,
  "POST /highlight": highlight,
  "GET /console": consoleMessages,
  "GET /errors": pageErrors,
  "GET /requests": requests,
  "POST /trace/start": traceStart,
  "POST /trace/stop": traceStop,
  "POST /response/body": responseBody,
  "GET /cookies": cookies,
  "POST /cookies/set": setCookie,
  "POST /cookies/clear": (op) => clearCookies(op),
  "GET /storage/:kind": storage,
  "POST /storage/:kind/set": setStorage,
  "POST /storage/:kind/clear": clearStorage,
  "POST /state/save": saveState,
  "POST /state/load": loadState,
  "POST /set/offline": overrides.setOffline,
  "POST /set/headers": overrides.setHeaders,
  "POST /set/credentials": overrides.setCredentials,
  "POST /set/geolocation": overrides.setGeolocation,
  "POST /set/permissions": overrides.setPermissions,
  "POST /set/media": overrides.setMedia,
  "POST /set/timezone": overrides.setTimezone,
  "POST /set/locale": overrides.setLocale,
  "POST /set/device": overrides.setDevice,
};

/** Returns the operation of a route. Its input must have been validated by the route's declaration. */
export function operationOf(name: RouteName): (op: Op, input: never) => Promise<object> {
  return operations[name];
}
