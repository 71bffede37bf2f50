/** Describes a change in a sentence: `PATCH /keys/:name` of the entry team-a becomes "Changed key team-a". */

const METHODS = { POST: "created", PUT: "changed", PATCH: "changed", DELETE: "deleted" };

/** The last step of a path, if it names an action. */
const STEPS = {
  approve: "approved",
  backup: "backed up",
  cancel: "cancelled",
  check: "checked",
  compact: "compacted",
  confirm: "allowed a tool call in",
  deny: "refused a tool call in",
  disable: "disabled",
  enable: "enabled",
  import: "imported",
  refresh: "read again",
  reload: "reloaded",
  replay: "replayed",
  rescan: "scanned the disk for",
  rotate: "rotated",
  run: "ran",
  start: "started",
  stop: "stopped",
  undo: "restored",
};

/** The nouns for the path segments before an entry's id or an action. */
const NOUNS = {
  browser: "browser",
  channels: "channel",
  config: "configuration",
  deliveries: "delivery",
  hooks: "hook",
  jobs: "job",
  keys: "key",
  plugins: "plugin",
  polls: "poll",
  profiles: "profile",
  samples: "sample of webhook",
  sessions: "session",
  store: "store",
  turns: "turn",
};

/** Returns the sentence, or the route itself if there is none for it. */
export function auditSentence({ action, entry, outcome, request }) {
  const [method, path] = action.split(" ");
  const steps = (path ?? "").split("/").filter((step) => step !== "" && !step.startsWith(":"));
  const last = steps.at(-1);
  const verb = STEPS[last] ?? (last === "config" ? "changed" : METHODS[method]);
  const isStep = Object.hasOwn(STEPS, last);
  const collection = isStep ? steps.at(-2) : last;
  const name = request?.name ?? entry;
  const noun = NOUNS[collection];
  if (verb === undefined || noun === undefined) return capital(action);
  const group = isStep && collection.endsWith("s") ? collection : noun;
  const subject = name === undefined ? group : `${noun} ${name}`;
  return outcome === "made" ? capital(`${verb} ${subject}`) : `Not applied: ${verb} ${subject}`;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
