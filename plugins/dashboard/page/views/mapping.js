/** One mapping of the webhooks: its words, tried on a request that was caught before they are saved. */
import { attempt, change, get, post } from "../api.js";
import { action, h, json, notice, problem, say } from "../dom.js";

export const mapping = {
  id: "mapping",
  title: "Mapping",
  /** Reached from the webhooks. */
  of: "webhooks",
  async mount(root, left, name) {
    const [config, kept] = await Promise.all([
      attempt(get("/kernel/config")),
      attempt(get(`/webhooks/samples/${encodeURIComponent(name)}`)),
    ]);
    if (left.aborted) return;
    const all = config.value?.value.webhooks?.mappings ?? {};
    const found = Object.hasOwn(all, name) ? all[name] : undefined;
    if (!found) {
      root.replaceChildren(
        config.error
          ? notice(config.error)
          : h("p", { class: "notice" }, `There is no mapping ${name}.`),
      );
      return;
    }
    root.replaceChildren(...page(name, found, config.value.version, kept.value, left));
  },
};

function page(name, config, readVersion, kept, left) {
  let version = readVersion;
  const match = h(
    "textarea",
    { id: "mapping-match", rows: "4" },
    config.match ? JSON.stringify(config.match, null, 2) : "",
  );
  const message = h("textarea", { id: "mapping-message", rows: "5" }, config.message ?? "");
  const session = h("textarea", { id: "mapping-session", rows: "1" }, config.session ?? "");
  const outcome = h("div", { role: "status", "aria-label": "Outcome" });
  const sample = h("div", {});
  /** Where a path goes that is chosen. */
  let target = message;
  for (const each of [message, session]) each.addEventListener("focus", () => (target = each));

  const values = () => ({
    match: match.value.trim() === "" ? undefined : readJson(match.value),
    message: message.value,
    session: session.value.trim(),
  });
  let asked = 0;
  async function tryOut() {
    const mine = ++asked;
    try {
      const result = await post("/webhooks/test", { path: name, change: values() });
      if (mine === asked) outcome.replaceChildren(...shown(result));
    } catch (error) {
      if (mine === asked) outcome.replaceChildren(problem(error.message));
    }
  }
  let pause;
  for (const each of [match, message, session])
    each.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(tryOut, 300);
    });
  left.addEventListener("abort", () => clearTimeout(pause));

  async function save() {
    const before = {
      match: config.match,
      message: config.message ?? "",
      session: config.session ?? "",
    };
    const changes = Object.entries(values()).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key]),
    );
    if (changes.length === 0) return "Nothing has changed";
    const members = Object.fromEntries(
      changes.map(([key, value]) => [key, value === "" ? null : (value ?? null)]),
    );
    const body = { path: ["webhooks", "mappings", name], members };
    ({ version } = await change("PATCH", "/kernel/config", body, version));
    Object.assign(config, Object.fromEntries(changes));
    return `${changes.map(([key]) => key).join(", ")} of ${name}: saved`;
  }

  function insert(path) {
    target.setRangeText(`{${path}}`, target.selectionStart, target.selectionEnd, "end");
    target.focus();
    void tryOut();
  }

  function showSample(caught) {
    sample.replaceChildren(
      ...(caught
        ? [
            h(
              "div",
              { class: "tabs" },
              caught.paths.map((path) =>
                h("button", { type: "button", onclick: () => insert(path) }, `{${path}}`),
              ),
            ),
            h("details", {}, h("summary", {}, "The request"), json(caught.sample)),
          ]
        : [
            h(
              "p",
              { class: "empty" },
              "None yet: catch the next request, and its values can be chosen here.",
            ),
          ]),
    );
    if (caught) void tryOut();
  }

  /** `any`: also one that the match, as it is saved, does not take. */
  const catchNext = (any) => async () => {
    say(`Waiting for the next request to ${name}${any ? "" : " that its match takes"} …`);
    showSample(
      await post(`/webhooks/samples/${encodeURIComponent(name)}${any ? "?any=true" : ""}`),
    );
    return "Caught";
  };

  showSample(kept);
  return [
    h("section", {}, [
      h(
        "div",
        { class: "title" },
        h("h2", {}, `Mapping ${name}`),
        h("a", { href: "#/webhooks" }, "All webhooks"),
      ),
      field(
        "Match",
        match,
        "As JSON: a path, and what must stand there. Empty: reached by its name only.",
      ),
      field("Message", message, "What the agent is to do. A value of the request: {body.a.b}"),
      field("Session", session, "A template too. Empty: a session of its own for each request."),
      h("div", { class: "row" }, action("Save", "save-mapping", save, { class: "primary" })),
    ]),
    h("section", {}, [
      h("div", { class: "title" }, [
        h("h2", {}, "Sample"),
        h("div", { class: "row" }, [
          action("Catch the next request", "catch", catchNext(false)),
          action("Catch any, matching or not", "catch-any", catchNext(true)),
        ]),
      ]),
      sample,
    ]),
    h("section", {}, h("div", { class: "title" }, h("h2", {}, "What it becomes")), outcome),
  ];
}

function field(label, element, hint) {
  return h("div", { class: "field" }, [
    h("label", { for: element.id }, label),
    h("div", { class: "muted small" }, hint),
    element,
  ]);
}

function shown({ outcome, session, task, text, missing, nearest }) {
  if (outcome === "skipped")
    return [
      h("p", { class: "notice" }, "Skipped: the sample does not match, or a transform drops it."),
    ];
  return [
    ...missing.map((one) =>
      problem(`No value for ${one}${nearest[one] ? `: did you mean {${nearest[one]}}?` : ""}`),
    ),
    ...(session === undefined ? [] : [h("p", {}, `In the session ${session}`)]),
    ...(task === undefined ? [] : [h("pre", {}, task)]),
    ...(text === undefined
      ? []
      : [h("p", { class: "muted small" }, "With, as data from outside:"), h("pre", {}, text)]),
  ];
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("Match is not JSON.");
  }
}
