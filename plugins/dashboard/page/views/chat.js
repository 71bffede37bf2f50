/** A conversation with any model of the gateway. */
import { attempt, eventsOf, get, request } from "../api.js";
import { h, notice } from "../dom.js";

/** Outlives a look at another section, but not whoever had it. */
const conversation = { model: undefined, messages: [] };
addEventListener("portico:signed-out", () => (conversation.messages = []));

export const chat = {
  id: "chat",
  title: "Chat",
  async mount(root, left) {
    const { value, error } = await attempt(get("/v1/models"));
    if (left.aborted) return;
    if (error) return root.replaceChildren(notice(error));
    root.replaceChildren(...page(value.data, left));
    root.querySelector("textarea").focus();
  },
};

function page(models, left) {
  conversation.model ??=
    models.some(({ id }) => id === "echo") && models.length <= 2 ? "echo" : models[0]?.id;
  const model = h(
    "select",
    { id: "model", onchange: () => (conversation.model = model.value) },
    models.map(({ id }) => h("option", { value: id, selected: id === conversation.model }, id)),
  );
  const log = h("div", { class: "log", role: "log", "aria-label": "Conversation", tabindex: "0" });
  const text = h("textarea", {
    id: "message",
    rows: "3",
    placeholder: "Enter sends, Shift+Enter begins a line",
    "aria-label": "Message",
  });
  const send = h("button", { type: "submit", class: "primary" }, "Send");
  const stop = h(
    "button",
    { type: "button", hidden: true, onclick: () => running?.abort() },
    "Stop",
  );
  const anew = h(
    "button",
    {
      type: "button",
      onclick: () => {
        conversation.messages = [];
        log.replaceChildren();
        text.focus();
      },
    },
    "New conversation",
  );
  let running;
  left.addEventListener("abort", () => running?.abort());
  for (const message of conversation.messages) show(message);

  function show({ role, content }) {
    const body = h("div", { class: "text" }, content);
    const foot = h("div", { class: "muted small" });
    log.append(h("article", { class: `message ${role}` }, h("h3", {}, role), body, foot));
    log.scrollTop = log.scrollHeight;
    return { body, foot };
  }

  async function ask(content) {
    const question = { role: "user", content };
    const answer = { role: "assistant", content: "" };
    show(question);
    const { body, foot } = show(answer);
    running = new AbortController();
    send.disabled = anew.disabled = true;
    stop.hidden = false;
    const began = performance.now();
    try {
      const asked = {
        model: model.value,
        stream: true,
        messages: [...conversation.messages, question],
      };
      const stream = await request("POST", "/v1/chat/completions", {
        body: asked,
        signal: running.signal,
      });
      for await (const { data } of eventsOf(stream)) {
        if (data === "[DONE]") break;
        const chunk = JSON.parse(data);
        if (chunk.error) throw new Error(chunk.error.message);
        answer.content += chunk.choices?.[0]?.delta?.content ?? "";
        body.textContent = answer.content;
        log.scrollTop = log.scrollHeight;
      }
      const ms = Math.round(performance.now() - began);
      foot.textContent = `${stream.headers.get("x-portico-channel") ?? ""} · ${stream.headers.get("x-portico-model") ?? ""} · ${ms} ms`;
    } catch (error) {
      foot.textContent = running.signal.aborted ? "stopped" : error.message;
      if (!running.signal.aborted) foot.className = "problem";
    } finally {
      if (answer.content !== "") conversation.messages.push(question, answer);
      send.disabled = anew.disabled = false;
      stop.hidden = true;
      running = undefined;
    }
  }

  const onsubmit = (event) => {
    event.preventDefault();
    const content = text.value.trim();
    if (content === "" || running) return;
    text.value = "";
    void ask(content);
  };
  const onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  };
  const form = h(
    "form",
    { onsubmit, onkeydown },
    text,
    h("div", { class: "row" }, send, stop, anew),
  );
  return [h("div", { class: "row" }, h("label", { for: "model" }, "Model"), model), log, form];
}
