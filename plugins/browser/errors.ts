/**
 * Every error of the plugin `browser`. The browser also runs on nodes, which do not load the plugin and so do not
 * declare its codes. Each entry therefore states its status.
 */
import { PorticoError } from "portico";

const INVALID = { code: "invalid_request_error", status: 400 } as const;
const FAILED = { code: "action_failed", status: 422 } as const;
const TIMEOUT = { code: "timeout", status: 504 } as const;
const CONFLICT = { code: "conflict", status: 409 } as const;
const FORBIDDEN = { code: "forbidden", status: 403 } as const;
const FORBIDDEN_ORIGIN = { code: "forbidden_origin", status: 403 } as const;
const UNAUTHORIZED = { code: "unauthorized", status: 401 } as const;
const NOT_FOUND = { code: "not_found", status: 404 } as const;
const NO_TAB = { code: "tab_not_found", status: 404 } as const;
const NO_REF = { code: "ref_not_found", status: 404 } as const;
const NOT_RUNNING = { code: "browser_not_running", status: 409 } as const;
const UNAVAILABLE = { code: "browser_unavailable", status: 503 } as const;
const NOT_IMPLEMENTED = { code: "not_implemented", status: 501 } as const;

export const errors = PorticoError.table({
  // requests
  unknownRoute: { ...NOT_FOUND, message: "The browser control API has no such route." },
  bodyNotObject: { ...INVALID, message: "The body must be a JSON object." },
  browserDisabled: {
    code: "browser_disabled",
    status: 503,
    message: "The browser is disabled. Set browser.enabled to true and restart the gateway.",
  },
  notAHandshake: { ...INVALID, message: "This is not a WebSocket handshake: {problem}." },
  socketClosed: {
    code: "client_closed",
    status: 499,
    message: "The socket closed during the handshake.",
  },

  // errors of any operation
  timedOut: { ...TIMEOUT, message: "{what} did not finish within {ms} ms." },
  timedOutBecause: { ...TIMEOUT, message: "{what} did not finish in time: {reason}" },
  tabBusy: {
    ...TIMEOUT,
    message:
      "{what} could not begin within {ms} ms, because an earlier action in this tab was still in progress. Try again later.",
  },
  pageSilent: {
    ...TIMEOUT,
    message: "{what} did not finish within {ms} ms: the page does not respond.",
  },
  failedBecause: { ...FAILED, message: "{what} failed: {reason}" },
  interruptedByNavigation: {
    ...FAILED,
    message: "{what} was interrupted because the page navigated. Take a new snapshot.",
  },
  frameGone: { ...NO_REF, message: "The frame of this ref no longer exists. Take a new snapshot." },
  tabEnded: {
    ...NO_TAB,
    message:
      "{what} was interrupted because the tab was closed or crashed. List the tabs (GET /tabs) or open one.",
  },
  browserGone: {
    ...NOT_RUNNING,
    message:
      "{what} was interrupted because the browser has exited. Start the browser again with POST /start.",
  },
  workerSilent: { ...TIMEOUT, message: "The browser did not respond in time. Try again." },
  diskFull: {
    code: "storage_full",
    message: "The disk of the gateway is full. Free some space and try again.",
  },
  internalError: {
    code: "internal_error",
    status: 500,
    message: "{what} failed because of an error in the gateway. See the gateway's log for details.",
  },

  // starting a browser and connecting to it
  executableInvalid: {
    ...UNAVAILABLE,
    message:
      "browser.executablePath is not an executable file. Correct the path, or remove the setting so that the gateway looks for a browser.",
  },
  runsInOtherMode: {
    ...CONFLICT,
    message:
      "The browser is already running {how}. Stop it first with POST /stop, or leave out `headless`.",
  },
  noDisplay: {
    ...FAILED,
    message:
      "A browser with a window needs a display, and the gateway has none. Leave out `headless`, or start the gateway with DISPLAY or WAYLAND_DISPLAY set.",
  },
  noBrowserFound: {
    ...UNAVAILABLE,
    message:
      "No Chromium-based browser was found. Install Chrome, Brave, Edge or Chromium, or set browser.executablePath.",
  },
  startTooSlow: { ...TIMEOUT, message: "The browser did not start within {ms} ms." },
  notExecuted: {
    ...UNAVAILABLE,
    message: "The browser could not be started: {reason}. Check browser.executablePath.",
  },
  endedAtStart: { ...UNAVAILABLE, message: "The browser could not be started: {reason}" },
  libraryUnavailable: {
    code: "library_unavailable",
    status: 501,
    message:
      "This operation needs the browser automation library (playwright-core), which is not available in this installation. Install it with 'npm install playwright-core' and restart the gateway. {still}",
  },
  portTaken: {
    ...CONFLICT,
    message: "Another program took port {port} while the browser started. Start the browser again.",
  },
  nothingToAttach: {
    ...NOT_RUNNING,
    message:
      "browser.attachOnly is set, and no browser listens on port {port} for profile {profile}. Start one with --remote-debugging-port={port}.",
  },
  debuggingRefused: {
    ...NOT_RUNNING,
    message: "The browser's debugging socket refused the connection.",
  },
  endpointStatus: {
    ...NOT_RUNNING,
    message: "The browser at {address} responded with {status}.{hint}",
  },
  noDebuggingSocket: {
    ...NOT_RUNNING,
    message:
      "{address} offers no debugging socket yet, because no browser or no tab is attached there.",
  },
  endpointSilent: {
    ...TIMEOUT,
    message: "The browser at {address} did not respond within {ms} ms.",
  },
  endpointNoBrowser: {
    ...NOT_RUNNING,
    message:
      "The server at {address} is not a browser: its response is larger than {bytes} bytes. Correct the profile's cdpUrl.",
  },
  endpointUnreachable: {
    ...NOT_RUNNING,
    message: "No browser responds at {address}. Start one there, or correct the profile's cdpUrl.",
  },
  noWindow: { ...NOT_RUNNING, message: "The browser shows no window that can be controlled." },
  notRunning: {
    ...NOT_RUNNING,
    message:
      "The browser of profile {profile} is not running. Start it with POST /start (or 'portico browser start').",
  },
  browserDiscarded: {
    ...NOT_RUNNING,
    message: "This browser has been discarded. Try again to get a new browser.",
  },

  // the debugging port
  debuggingTokenWrong: {
    ...UNAUTHORIZED,
    message:
      "The token is missing or wrong. Send the gateway's token as a bearer token, as the password of any user name, or as ?token=.",
  },
  stillStarting: { ...NOT_RUNNING, message: "The browser is starting. Try again in a moment." },
  otherBrowser: {
    ...NOT_FOUND,
    message: "This is not the id of the running browser. GET /json/version shows the correct id.",
  },
  unknownTarget: {
    ...NO_TAB,
    message: "There is no such target. GET /json/list lists the targets.",
  },

  // the extension relay
  relayTokenWrong: {
    ...UNAUTHORIZED,
    message:
      "The token is missing or wrong. 'portico browser extension pair' prints the right token and port.",
  },
  extensionOnly: {
    ...FORBIDDEN_ORIGIN,
    message: "Only the Portico extension may connect here.",
  },
  noPages: { ...FORBIDDEN_ORIGIN, message: "Web pages may not control the relay's tabs." },
  nothingAttached: {
    ...NOT_RUNNING,
    message:
      "No tab is attached to the extension relay: click the extension's icon on a tab. If the extension is not installed yet, run 'portico browser extension path' and then 'portico browser extension pair'.",
  },
  otherExtension: {
    ...CONFLICT,
    message:
      "Another browser's extension is connected to this gateway. Detach that browser's tabs first.",
  },
  otherClient: {
    ...CONFLICT,
    message:
      "Another client controls the relay's tabs. Only one client can control them at a time.",
  },
  otherClientBusy: {
    ...CONFLICT,
    message: "Another client controls the relay's tabs. Stop that client first (POST /stop).",
  },

  // profiles
  unknownProfile: {
    code: "profile_not_found",
    status: 404,
    message:
      "There is no browser profile {profile}. The profiles are: {known}. Create a profile with POST /profiles/create.",
  },
  profileExists: {
    ...CONFLICT,
    message: "There is already a browser profile {profile}. Choose another name.",
  },
  badProfileName: { ...INVALID, message: "{name} cannot be a profile's name. Write {rule}." },
  remoteWithoutUrl: { ...INVALID, message: "A remote profile needs `cdpUrl`." },
  badCdpUrl: { ...INVALID, message: "`cdpUrl` is not a URL." },
  managedWithUrl: {
    ...INVALID,
    message: "A managed profile cannot have `cdpUrl`. Leave out either `cdpUrl` or `driver`.",
  },
  managedOnly: { ...INVALID, message: "Only a managed profile can have `{field}`." },
  profileConfigured: {
    ...CONFLICT,
    message:
      "Profile {profile} is defined in the configuration (browser.profiles). Remove it there. To discard only its data, use POST /reset-profile.",
  },
  profileBuiltIn: {
    ...CONFLICT,
    message:
      "Profile {profile} is built in and cannot be deleted. To discard its data, use POST /reset-profile.",
  },
  nothingToReset: {
    ...INVALID,
    message: "Profile {profile} has no data on this machine to reset.",
  },
  toolsPort: {
    ...INVALID,
    message: "Port {port} is where other tools look for their own browser. Set another `cdpPort`.",
  },
  toolsPortOfProfile: {
    ...CONFLICT,
    message:
      "Port {port} is where other tools look for their own browser. Set another `cdpPort` for profile {profile}.",
  },
  portInUse: {
    ...CONFLICT,
    message:
      "Port {port} (`cdpPort` of profile {profile}) is in use by another program. Free the port, or set another `cdpPort`.",
  },
  noProfilePort: {
    ...CONFLICT,
    message: "No debugging port from {first} to {last} is free. Stop or delete a profile.",
  },

  // sandboxed sessions and targets
  sandboxWithoutProfiles: {
    ...INVALID,
    message:
      "A sandbox has one browser and no profiles, so this action is not available in a sandbox. Pass `target=host` if that is allowed.",
  },
  sandboxProfileNamed: {
    ...INVALID,
    message:
      "A sandbox has one browser and no profiles: leave out `profile`. To use a profile of the host, pass `target=host`, which {key} must allow.",
  },
  sandboxesBusy: {
    code: "service_unavailable",
    status: 503,
    message:
      "{most} sandboxed sessions are using a browser, which is the maximum. Try again later.",
  },
  noSandboxPort: {
    ...CONFLICT,
    message: "No debugging port from {first} to {last} is free. Stop a browser.",
  },
  hostNotAllowed: {
    ...FORBIDDEN,
    message:
      "This session is sandboxed and has a browser of its own: leave out `target` to use it. To allow the host's browser, set {key} to true.",
  },
  ownerOnly: {
    ...FORBIDDEN,
    message:
      "Only the owner can use the browsers of the host and of nodes. Leave out `target`: this session has a browser of its own.",
  },
  nodesOff: {
    code: "node_unavailable",
    status: 503,
    message: "Browsers on nodes are not available, because the nodes plugin is off.",
  },

  // tabs
  noTabOpen: { ...NO_TAB, message: "No tab is open. Open one with POST /tabs/open." },
  unknownTab: { ...NO_TAB, message: "There is no tab {tab}. List the tabs with GET /tabs." },
  severalTabs: {
    ...NO_TAB,
    message: "{count} tabs have an id that begins with {tab}. Pass more characters of the id.",
  },
  tabJustClosed: {
    ...NO_TAB,
    message: "The tab was closed a moment ago. List the tabs with GET /tabs.",
  },
  newTabClosed: { ...NO_TAB, message: "The new tab was closed before it could be used." },
  tabCrashed: {
    ...NO_TAB,
    message: "This tab has crashed. Close it (DELETE /tabs/:targetId) and open the page again.",
  },
  tooManyTabs: {
    ...CONFLICT,
    message: "{most} tabs are open, which is the maximum (browser.maxTabs). Close some tabs first.",
  },
  tabLeaving: {
    ...TIMEOUT,
    message:
      "The tab is loading a page of {host}, which does not respond. Wait longer, or navigate elsewhere.",
  },

  // navigation
  navigationBlocked: { code: "navigation_blocked", status: 403, message: "{reason}" },
  pageNotLoaded: { ...FAILED, message: "The page could not be loaded: {reason}" },
  pageSlow: {
    ...TIMEOUT,
    message:
      'The page did not load within {ms} ms. It may still be loading: take a snapshot (GET /snapshot), or navigate with `waitUntil` "commit".',
  },
  addressIsDownload: {
    ...FAILED,
    message: "The address is a download, not a page. Fetch it with POST /wait/download.",
  },
  interruptedLoad: {
    ...FAILED,
    message: "While the page was loading, it navigated to {url}.",
  },
  closedWhileLoading: {
    ...NO_TAB,
    message:
      "The tab was closed while its page was loading. List the tabs (GET /tabs) or open one.",
  },

  // snapshots and refs
  notARef: {
    ...INVALID,
    message:
      '{given} is not a ref. Use a number or e<n> from a snapshot (12, "e12"). CSS selectors are not supported in actions.',
  },
  unknownRef: { ...NO_REF, message: "There is no ref {ref} in this tab. Take a new snapshot." },
  staleRef: {
    ...NO_REF,
    message:
      "The element with ref {ref} ({element}) is no longer on the page. Take a new snapshot.{hint}",
  },
  badSelector: { ...INVALID, message: "`{param}` is not a selector that the browser understands." },
  nothingMatches: { ...INVALID, message: "No {what} matches `{param}`." },
  notAFrame: { ...INVALID, message: "`frame` must select an iframe, but it selects {tag}." },
  labelsWithoutRefs: {
    ...INVALID,
    message:
      "`labels` needs refs, which `format=aria` does not have. Leave out `labels` or `format`.",
  },
  snapshotOfUnresponsivePage: {
    ...TIMEOUT,
    message: "The snapshot was not ready within {ms} ms: the page does not respond.",
  },
  snapshotOfLargePage: {
    ...TIMEOUT,
    message:
      'The snapshot was not ready within {ms} ms: the page has {elements} elements. Limit the snapshot with `selector` ("main", "#results"), or allow more time with `timeoutMs`.',
  },

  // actions
  kindMissing: { ...INVALID, message: "`kind` is missing. {hint}" },
  unknownKind: { ...INVALID, message: "{kind} is not a kind of action. {hint}" },
  selectorInAction: {
    ...INVALID,
    message:
      "`selector` is not supported in actions: CSS selectors break when a page changes and can match the wrong element. Take a snapshot and pass the ref of the element.",
  },
  badSnapshotMode: { ...INVALID, message: '`snapshot` must be "efficient" or "ai".' },
  nestedBatch: { ...INVALID, message: "A batch cannot contain another batch." },
  evaluateDisabled: {
    code: "evaluate_disabled",
    status: 403,
    message: "{what} is turned off: browser.evaluateEnabled is false.",
  },
  notJavaScript: { ...INVALID, message: "`{param}` is not JavaScript: {reason}." },
  resultTooLarge: { ...FAILED, message: "The result of `fn` is too large. Return less data." },
  elementHindered: { ...FAILED, message: "{what} failed: the {element} {reason}." },
  valueOfWrongKind: {
    ...FAILED,
    message: "{what} failed because the {element} does not accept the value: {reason}",
  },
  labelGone: {
    ...FAILED,
    message: "The element's `<label>` is no longer on the page. Take a new snapshot.",
  },
  labelWithoutEffect: { ...FAILED, message: "A click on the label did not change the checkbox." },
  clickWithoutPlace: {
    ...INVALID,
    message:
      "`click` needs `ref`, or `x` and `y`, or all three. With `ref`, `x` and `y` are relative to the element's top left corner.",
  },
  placeOutside: {
    ...FAILED,
    message:
      "The position {x}, {y} is outside the visible part of the page ({width} x {height}). Scroll first.",
  },
  dragOntoItself: {
    ...INVALID,
    message:
      "`startRef` and `endRef` name the same element. Pass the element to drag as `startRef`, and the element to drop it on as `endRef`.",
  },
  dragGoalHidden: { ...FAILED, message: "The drag failed: the element to drop on is not visible." },
  highlightHidden: {
    ...FAILED,
    message: "Highlighting failed: the element with ref {ref} is not visible.",
  },

  // fields, lists and keys
  valueNotAccepted: {
    ...FAILED,
    message: "The field is of type {type} and does not accept {value}. Use {form}.",
  },
  fieldStaysEmpty: {
    ...FAILED,
    message: "Typing failed: the field is still empty, because the page does not accept this text.",
  },
  fieldKeepsText: {
    ...FAILED,
    message:
      "Typing failed: all or part of the field's old text is still there. Click into the field, then press Control+A and Delete before you type.",
  },
  nothingFocused: {
    ...FAILED,
    message: "Typing failed: no text field has focus. Click into a field first, or pass its `ref`.",
  },
  notAKey: {
    ...INVALID,
    message: "{key} is not a key. Use a name such as Enter, Tab, ArrowDown, a or Control+A.",
  },
  boxNeedsBoolean: {
    ...INVALID,
    message: "The value of a checkbox must be true or false.",
  },
  textAcceptsOneValue: {
    ...INVALID,
    message: "This field accepts only one text. Only a list accepts several values.",
  },
  listAcceptsOneValue: {
    ...FAILED,
    message: "The list accepts only one value, but the action contains {count}.",
  },

  // waiting
  nothingToWaitFor: {
    ...INVALID,
    message: "`wait` needs one of `text`, `textGone`, `url`, `loadState`, `fn` and `timeMs`.",
  },
  textNotShown: { ...TIMEOUT, message: "The text {text} did not appear within {ms} ms." },
  textNotGone: { ...TIMEOUT, message: "The text {text} did not disappear within {ms} ms." },
  waitTimedOut: {
    ...TIMEOUT,
    message: "The wait for {condition} timed out after {ms} ms.",
  },

  // files: uploads, downloads, and the paths that callers name
  pathEmpty: { ...INVALID, message: "The path is empty or contains a NUL character." },
  pathWithDots: { ...INVALID, message: "The path must not contain '..'." },
  pathTooLong: {
    ...INVALID,
    message:
      "The path is too long. Each name in it may have at most {nameBytes} bytes, and the path as a whole at most {pathBytes}.",
  },
  pathOutside: {
    ...INVALID,
    message: "The path is outside the allowed directory. Use a name relative to that directory.",
  },
  pathNotDirectory: {
    ...INVALID,
    message: "A part of the path is a link or a file, not a directory.",
  },
  pathLeadsOut: {
    ...INVALID,
    message: "The path leads out of the allowed directory.",
  },
  pathOccupied: {
    ...INVALID,
    message: "The path already exists, but it is not a regular file.",
  },
  pathProtected: { ...INVALID, message: "Files must not be written to this path: {reason}." },
  fileMissing: { ...INVALID, message: "There is no such file in the allowed directory." },
  fileUnreadable: { ...INVALID, message: "The file cannot be read." },
  fileNotRegular: {
    ...INVALID,
    message: "The path does not lead to a regular file. Only regular files are accepted.",
  },
  fileWithLinks: {
    ...INVALID,
    message: "A file with several hard links is not accepted. Make a copy of it.",
  },
  uploadRefused: {
    ...INVALID,
    message: "{reason} Files to upload must be in <tmp>/portico/uploads.",
  },
  acceptsNoFiles: {
    ...FAILED,
    message:
      "The upload failed: the element is not a file input, a click on it opens no file chooser, and it accepts no dropped files.",
  },
  downloadNotStarted: {
    ...TIMEOUT,
    message: "The click did not start a download within {ms} ms.",
  },
  noResponse: { ...TIMEOUT, message: "No response from {url} arrived within {ms} ms." },
  noDownload: { ...TIMEOUT, message: "No download started within {ms} ms." },
  oneFileOnly: { ...FAILED, message: "The upload failed: the input accepts only one file." },
  downloadTooLarge: {
    ...FAILED,
    message:
      "The download is larger than {bytes} bytes (browser.maxDownloadBytes) and was stopped.",
  },
  downloadFailed: { ...FAILED, message: "The download failed: {reason}." },
  downloadOverRelay: {
    ...NOT_IMPLEMENTED,
    message:
      "Downloads in a person's own browser go to that person's download folder and cannot be fetched through the relay. Use a managed profile.",
  },

  // screenshots, traces and the page's activity
  fullPageWithRef: {
    ...INVALID,
    message: "`fullPage` and `ref` cannot be combined. Leave out one of the two fields.",
  },
  qualityWithPng: { ...INVALID, message: "`quality` can only be used with `type=jpeg`." },
  badPaper: {
    ...INVALID,
    message: "{format} is not a paper size. Use A0 to A6, Letter, Legal, Tabloid or Ledger.",
  },
  badLevel: { ...INVALID, message: "`level` must be debug, info, warning or error." },
  bodyTooLarge: {
    ...FAILED,
    message:
      "The response body has {bytes} bytes, which is too large to be read here. Use POST /download.",
  },
  traceRunning: {
    code: "trace_running",
    status: 409,
    message: "A trace is already being recorded. Stop it with POST /trace/stop.",
  },
  traceNotRunning: {
    code: "trace_not_running",
    status: 409,
    message: "No trace is being recorded. Start one with POST /trace/start.",
  },

  // cookies and storage
  cookieWithoutPlace: {
    ...INVALID,
    message: "`cookie` needs `url` or `domain`, because the tab shows no web page.",
  },
  cookieWithBoth: { ...INVALID, message: "`cookie` can have `url` or `domain`, but not both." },
  cookieRefused: { ...INVALID, message: "The browser refused the cookie: {reason}" },
  noWebStorage: {
    ...FAILED,
    message:
      "This page has no web storage (about:blank and sandboxed pages have none). Open a page of the site first.",
  },
  webStorageFull: { ...FAILED, message: "The site's web storage is full." },
  stateOverRelay: {
    ...NOT_IMPLEMENTED,
    message:
      "The cookies and storage of a person's own browser can neither be saved nor replaced through the relay. Use a managed profile.",
  },
  stateRefused: { ...INVALID, message: "The browser refused the state: {reason}" },
  stateTooLarge: { ...INVALID, message: "The file is larger than {bytes} bytes." },
  stateNotJson: {
    ...INVALID,
    message: "The file is not JSON. Use a file that POST /state/save wrote.",
  },
  notAState: {
    ...INVALID,
    message: "The file was not written by POST /state/save: {reason}",
  },

  // overrides (POST /set/*)
  overrideRefused: { ...INVALID, message: "The browser refused the value: {reason}" },
  headersMissing: {
    ...INVALID,
    message: "`headers` is missing. Send an object of names and values, or `clear: true`.",
  },
  badHeaderName: { ...INVALID, message: "{name} is not a valid header name." },
  connectionHeader: {
    ...INVALID,
    message: "The header {name} is controlled by the browser and cannot be set.",
  },
  badHeaderValue: {
    ...INVALID,
    message: "The value of {name} contains a line break or another control character.",
  },
  credentialsMissing: {
    ...INVALID,
    message: "`username` or `password` is missing. Send both, or `clear: true`.",
  },
  positionMissing: {
    ...INVALID,
    message: "`latitude` or `longitude` is missing. Send both, or `clear: true`.",
  },
  badOrigin: { ...INVALID, message: "`origin` must have the form https://example.com." },
  permissionsMissing: {
    ...INVALID,
    message:
      "`permissions` is missing. Send a list (clipboard-read, notifications, camera, …), or `clear: true`.",
  },
  colorSchemeMissing: {
    ...INVALID,
    message: "`colorScheme` is missing. Send light, dark, no-preference or none.",
  },
  timezoneMissing: {
    ...INVALID,
    message: "`timezoneId` is missing. Send a time zone such as Europe/Berlin, or `clear: true`.",
  },
  unknownTimezone: {
    ...INVALID,
    message: "{timezone} is not a time zone. Use a name such as Europe/Berlin or UTC.",
  },
  timezoneNotSupported: {
    ...INVALID,
    message:
      "The browser does not know the time zone {timezone}. Use a name such as Europe/Berlin or UTC.",
  },
  localeMissing: {
    ...INVALID,
    message: "`locale` is missing. Send a locale such as de-DE, or `clear: true`.",
  },
  unknownLocale: {
    ...INVALID,
    message: "{locale} is not a locale. Use a name such as en-GB or de-DE.",
  },
  localeNotSupported: {
    ...INVALID,
    message: "The browser does not know the locale {locale}. Use a name such as en-GB or de-DE.",
  },
  deviceMissing: {
    ...INVALID,
    message: "`name` is missing. Send the name of a device, such as iPhone 14, or `clear: true`.",
  },
  unknownDevice: { ...INVALID, message: "There is no device {device}.{hint}" },
});
