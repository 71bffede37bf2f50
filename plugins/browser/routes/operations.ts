/** Maps each route of the control API to its operation. Loaded at the first request. */
import { armDialog, armFileChooser } from "../actions/uploads.ts";
import type { Input } from "../declarations/declare.ts";
import type { DECLARATIONS, RouteName } from "../declarations/routes.ts";
import type { Op } from "../op.ts";
import { runAct } from "../operations/act.ts";
import { highlightElement, savePdf, takeScreenshot } from "../operations/capture.ts";
import {
  listConsoleMessages,
  listPageErrors,
  listRequests,
  readResponseBody,
  handleTraceStart,
  handleTraceStop,
} from "../operations/debug.ts";
import { saveClickedDownload, saveNextDownload } from "../operations/downloads.ts";
import { startBrowser, getStatus, stopBrowser } from "../operations/lifecycle.ts";
import { closeTab, focusTab, listTabs, navigate, openTab } from "../operations/navigation.ts";
import * as overrides from "../operations/overrides.ts";
import {
  createProfile,
  deleteProfile,
  listProfiles,
  resetProfile,
} from "../operations/profiles.ts";
import { handleSnapshot } from "../operations/snapshot.ts";
import {
  clearCookies,
  clearStorage,
  listCookies,
  setCookie,
  setStorageItem,
  readWebStorage,
} from "../operations/state.ts";
import { loadState, saveState } from "../operations/storage-state.ts";

type Operations = {
  [Name in RouteName]: (
    op: Op,
    input: Input<(typeof DECLARATIONS)[Name]["fields"]>,
  ) => Promise<object>;
};

const operations: Operations = {
  "GET /": (op) => getStatus(op),
  "POST /start": startBrowser,
  "POST /stop": (op) => stopBrowser(op),
  "GET /profiles": (op) => listProfiles(op),
  "POST /profiles/create": createProfile,
  "DELETE /profiles/:name": deleteProfile,
  "POST /reset-profile": resetProfile,
  "GET /tabs": (op) => listTabs(op),
  "POST /tabs/open": openTab,
  "POST /tabs/focus": focusTab,
  "DELETE /tabs/:targetId": closeTab,
  "POST /navigate": navigate,
  "GET /snapshot": handleSnapshot,
  "POST /screenshot": takeScreenshot,
  "POST /pdf": savePdf,
  "POST /act": runAct,
  "POST /hooks/file-chooser": armFileChooser,
  "POST /hooks/dialog": armDialog,
  "POST /download": saveClickedDownload,
  "POST /wait/download": saveNextDownload,
  "POST /highlight": highlightElement,
  "GET /console": listConsoleMessages,
  "GET /errors": listPageErrors,
  "GET /requests": listRequests,
  "POST /trace/start": handleTraceStart,
  "POST /trace/stop": handleTraceStop,
  "POST /response/body": readResponseBody,
  "GET /cookies": listCookies,
  "POST /cookies/set": setCookie,
  "POST /cookies/clear": (op) => clearCookies(op),
  "GET /storage/:kind": readWebStorage,
  "POST /storage/:kind/set": setStorageItem,
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
export function getOperation(name: RouteName): (op: Op, input: never) => Promise<object> {
  return operations[name];
}
