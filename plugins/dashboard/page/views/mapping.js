/** The page of one webhook mapping: its templates, with a preview on a sample request. */
import { attempt, get, post } from "../api.js";
import { action, exactTime, formRow, h, href, json, notice, problem, showToast } from "../dom.js";
import { readConfig, reviewEdits } from "../review.js";

const TYPING_MS = 300;

export const mapping = {
  id: "mapping",
  title: "Mapping",
  /** The page has no entry in the navigation: the page of webhooks links to it. */
  of: "webhooks",
  async mount(root, signal, name, query) {
    const [config, samples, recent] = await Promise.all([
      attempt(readConfig()),
      attempt(get(`/webhooks/samples/${encodeURIComponent(name)}`)),
      attempt(get("/webhooks/deliveries?limit=50")),
    ]);
    if (signal.aborted) return;
    const all = config.value?.written.webhooks?.mappings ?? {};
    if (!Object.hasOwn(all, name)) {
      const missing = h("p", { class: "notice" }, `There is no mapping ${name}.`);
      return root.replaceChildren(config.error ? notice(config.error) : missing);
    }
    const page = new MappingPage(name, all[name], config.value.version, signal);
    root.replaceChildren(...page.sections(recent.value?.deliveries ?? []));
    const from = query.get("from");
    if (from) await page.useDelivery(from);
    else page.showSample(samples.value);
  },
};

class MappingPage {
  constructor(name, config, version, signal) {
    this.name = name;
    this.config = config;
    this.version = version;
    const match = config.match ? JSON.stringify(config.match, null, 2) : "";
    this.match = templateField("match", match, 4);
    this.message = templateField("message", config.message ?? "", 5);
    this.session = templateField("session", config.session ?? "", 1);
    this.outcome = h("div", { role: "status", "aria-label": "Outcome" });
    this.sample = h("div", {});
    /** The field into which a chosen path is inserted. */
    this.target = this.message;
    this.trials = 0;
    for (const field of [this.match, this.message, this.session])
      field.addEventListener("input", () => this.tryLater());
    for (const field of [this.message, this.session])
      field.addEventListener("focus", () => (this.target = field));
    signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  sections(deliveries) {
    const aside = h("a", { href: href("webhooks") }, "All webhooks");
    const save = action("Save", "save-mapping", () => this.save(), { class: "primary" });
    return [
      titledSection(
        `Mapping ${this.name}`,
        aside,
        formRow({
          label: "Match",
          control: this.match,
          hint: "A JSON object. Each key is a path in the request, and its value is what the request must have at that path. If the field is empty, only requests to the mapping's own address match.",
        }),
        formRow({
          label: "Message",
          control: this.message,
          hint: "The task for the agent. {body.a.b} inserts a value from the request.",
        }),
        formRow({
          label: "Session",
          control: this.session,
          hint: "The session's name, which may be a template. Leave empty for a separate session for each request.",
        }),
        h("div", { class: "row" }, save),
      ),
      titledSection("Sample", this.sampleButtons(), this.deliveryChoice(deliveries), this.sample),
      titledSection("Preview", null, this.outcome),
    ];
  }

  sampleButtons() {
    return h(
      "div",
      { class: "row" },
      action("Capture the next matching request", "catch", () => this.catchNext(false)),
      action("Capture the next request, matching or not", "catch-any", () => this.catchNext(true)),
    );
  }

  /** Creates the choice of a received request, to this mapping or another one, as the sample. */
  deliveryChoice(deliveries) {
    if (deliveries.length === 0) return null;
    const select = h(
      "select",
      {
        id: "mapping-delivery",
        onchange: () => select.value && void this.useDelivery(select.value),
      },
      h("option", { value: "" }, "choose a request"),
      deliveries.map(({ id, source, at, outcome }) =>
        h("option", { value: id }, `${exactTime(at)}: ${source}, ${outcome}`),
      ),
    );
    const label = h("label", { for: "mapping-delivery" }, "Or use a received request");
    return h("div", { class: "row" }, label, select);
  }

  values() {
    return {
      match: this.match.value.trim() === "" ? undefined : readJson(this.match.value),
      message: this.message.value,
      session: this.session.value.trim(),
    };
  }

  tryLater() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.tryOut(), TYPING_MS);
  }

  async tryOut() {
    this.trials += 1;
    const trial = this.trials;
    let content;
    try {
      const body = { path: this.name, change: this.values(), ...this.request };
      content = outcomeOf(await post("/webhooks/test", body));
    } catch (error) {
      content = [problem(error.message)];
    }
    if (trial === this.trials) this.outcome.replaceChildren(...content);
  }

  /** Writes only the changes. An empty field removes the member. */
  async save() {
    const { config } = this;
    const values = this.values();
    const after = {
      match: values.match,
      message: values.message || undefined,
      session: values.session || undefined,
    };
    const edits = Object.entries(after)
      .filter(([member, value]) => JSON.stringify(value) !== JSON.stringify(config[member]))
      .map(([member, value]) => {
        const path = ["webhooks", "mappings", this.name, member];
        return value === undefined ? { path, remove: true } : { path, value };
      });
    if (edits.length === 0) return "Nothing has changed";
    const title = `Change the mapping ${this.name}`;
    if (!(await reviewEdits({ title, edits, version: this.version }))) return false;
    const { version, written } = await readConfig();
    this.version = version;
    this.config = written.webhooks.mappings[this.name];
    return `${this.name}: saved`;
  }

  insert(path) {
    const { target } = this;
    target.setRangeText(`{${path}}`, target.selectionStart, target.selectionEnd, "end");
    target.focus();
    void this.tryOut();
  }

  async useDelivery(id) {
    const { value, error } = await attempt(get(`/webhooks/deliveries/${encodeURIComponent(id)}`));
    if (error) return this.sample.replaceChildren(notice(error));
    const { payload, headers = {}, query = {} } = value;
    this.request = { body: bodyOf(payload), headers, query };
    this.showSample({ sample: this.request, paths: pathsOf(this.request) });
  }

  showSample(captured) {
    if (!captured) {
      const text = "There is no sample yet. Capture a request to choose from its values here.";
      this.outcome.replaceChildren(
        h("p", { class: "empty" }, "Capture a request or choose a sample to see the preview."),
      );
      return this.sample.replaceChildren(h("p", { class: "empty" }, text));
    }
    const buttons = captured.paths.map((path) =>
      h("button", { type: "button", onclick: () => this.insert(path) }, `{${path}}`),
    );
    this.sample.replaceChildren(
      h("div", { class: "tabs" }, buttons),
      h("details", {}, h("summary", {}, "The request"), json(captured.sample)),
    );
    void this.tryOut();
  }

  /** Waits for the next request. `isAny` also accepts one that the saved match does not. */
  async catchNext(isAny) {
    showToast(`Waiting for the next request to ${this.name}${isAny ? "" : " that matches"} …`);
    const path = `/webhooks/samples/${encodeURIComponent(this.name)}${isAny ? "?any=true" : ""}`;
    const captured = await post(path);
    this.request = undefined;
    this.showSample(captured);
    return "The request was captured";
  }
}

const templateField = (name, text, rows) => h("textarea", { id: `mapping-${name}`, rows }, text);

const titledSection = (title, aside, ...content) =>
  h("section", {}, h("div", { class: "title" }, h("h2", {}, title), aside), content);

/** Parses the body of a delivery, which is stored as text. */
function bodyOf(payload) {
  try {
    return JSON.parse(payload ?? "null");
  } catch {
    return { text: payload };
  }
}

const MAX_ITEMS = 3;

/** Returns the paths of all values of a request, in the syntax of templates. */
function pathsOf({ body, headers, query }) {
  const paths = [];
  const visit = (value, path) => {
    paths.push(path);
    if (Array.isArray(value))
      for (const [i, item] of value.slice(0, MAX_ITEMS).entries()) visit(item, `${path}[${i}]`);
    else if (typeof value === "object" && value !== null)
      for (const [name, item] of Object.entries(value)) visit(item, memberPath(path, name));
  };
  visit(body, "body");
  const pathsIn = (kind, values) => Object.keys(values).map((name) => `${kind}.${name}`);
  return [...paths, ...pathsIn("headers", headers), ...pathsIn("query", query)];
}

const memberPath = (path, name) =>
  /^[^\s.[\]{}"']+$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;

function outcomeOf({ outcome, session, task, text, missing, nearest }) {
  if (outcome === "skipped") {
    const reason = "Skipped: the sample does not match, or a transform discards the sample.";
    return [h("p", { class: "notice" }, reason)];
  }
  const hint = (path) => (nearest[path] ? `: did you mean {${nearest[path]}}?` : "");
  return [
    ...missing.map((path) => problem(`No value for ${path}${hint(path)}`)),
    session && h("p", {}, `In the session ${session}`),
    task && h("pre", { tabindex: "0" }, task),
    text &&
      h(
        "p",
        { class: "muted small" },
        "Followed by the request's content, marked as untrusted data:",
      ),
    text && h("pre", { tabindex: "0" }, text),
  ].filter(Boolean);
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("The field “Match” is not valid JSON.");
  }
}
