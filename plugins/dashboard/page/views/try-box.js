/** A form that sends one question to a model, and shows the response and how the gateway handled it. */
import { attempt, get, request } from "../api.js";
import { count, duration, facts, h, href, problem } from "../dom.js";

export function tryBox() {
  const model = h("select", { id: "try-model" });
  const text = h("input", {
    id: "try-text",
    value: "Answer with the word pong.",
    autocomplete: "off",
  });
  const outcome = h("div", { role: "status", "aria-label": "Result of the test" });
  const send = h("button", { type: "submit", class: "primary" }, "Send");
  const onsubmit = async (event) => {
    event.preventDefault();
    send.disabled = true;
    outcome.replaceChildren(h("p", { class: "muted" }, "Waiting for the response …"));
    outcome.replaceChildren(...(await ask(model.value, text.value)));
    send.disabled = false;
  };
  const form = h(
    "form",
    { onsubmit },
    h(
      "div",
      { class: "row" },
      h("label", { for: "try-model" }, "Model"),
      model,
      h("label", { for: "try-text" }, "Message"),
      text,
      send,
    ),
    outcome,
  );
  const box = h("details", { class: "try-box" }, h("summary", {}, "Try a model"), form);
  box.addEventListener("toggle", () => box.open && void fillModels(model));
  return box;
}

async function fillModels(select) {
  const { value } = await attempt(get("/v1/models"));
  const current = select.value;
  const options = (value?.data ?? []).map(({ id }) =>
    h("option", { value: id, selected: id === current }, id),
  );
  select.replaceChildren(...options);
}

async function ask(model, content) {
  const began = performance.now();
  const body = { model, messages: [{ role: "user", content }], max_tokens: 200 };
  try {
    const response = await request("POST", "/v1/chat/completions", { body });
    const answer = await response.json();
    return outcomeOf(answer, response.headers, performance.now() - began);
  } catch (error) {
    return [problem(error.message)];
  }
}

function outcomeOf({ choices, usage }, headers, ms) {
  const id = headers.get("x-request-id");
  return [
    h("pre", {}, String(choices[0]?.message?.content ?? "(no text)")),
    facts([
      ["served by", `${headers.get("x-portico-channel")} / ${headers.get("x-portico-model")}`],
      ["attempts", headers.get("x-portico-attempts")],
      ["took", duration(Math.round(ms))],
      [
        "tokens",
        usage && `${count(usage.prompt_tokens)} in, ${count(usage.completion_tokens)} out`,
      ],
      ["changed for the provider", headers.get("x-portico-changed")],
      ["request", id && h("a", { href: href("requests", id) }, "details of the request")],
    ]),
  ];
}
