/** The page of the chat: a conversation with any model of the gateway. */
import { ApiError, attempt, eventsOf, get, request } from "../api.js";
import { count, dollars, duration, h, href, notice, problem } from "../dom.js";
import { showMarkdown } from "../markdown.js";
import { Attachments, partsOf } from "./chat-attachments.js";
import { ChatSettings } from "./chat-settings.js";

/** The conversation, which survives a change of the page, but not signing out. */
const conversation = { model: undefined, messages: [], settings: {} };
addEventListener("portico:signed-out", () => {
  conversation.messages = [];
  conversation.settings = {};
});

export const chat = {
  id: "chat",
  title: "Chat",
  async mount(root, signal) {
    const { value, error } = await attempt(get("/v1/models"));
    if (signal.aborted) return;
    if (error) return root.replaceChildren(notice(error));
    const page = new ChatPage(value.data, signal);
    root.replaceChildren(...page.elements);
    page.text.focus();
  },
};

class ChatPage {
  constructor(models, signal) {
    conversation.model ??= defaultModel(models);
    this.model = h(
      "select",
      { id: "model", onchange: () => (conversation.model = this.model.value) },
      models.map(({ id }) => h("option", { value: id, selected: id === conversation.model }, id)),
    );
    this.settings = new ChatSettings(conversation.settings);
    this.log = h("div", { class: "log", role: "log", "aria-label": "Conversation", tabindex: "0" });
    this.text = h("textarea", {
      id: "message",
      rows: "3",
      placeholder: "Enter sends, Shift+Enter starts a new line",
      "aria-label": "Message",
    });
    this.attachments = new Attachments();
    this.sendButton = h("button", { type: "submit", class: "primary" }, "Send");
    this.stopButton = button("Stop", () => this.running?.abort());
    this.stopButton.hidden = true;
    this.newButton = button("New conversation", () => this.clear());
    this.form = this.formElement();
    signal.addEventListener("abort", () => this.running?.abort());
    for (const message of conversation.messages) this.show(message);
    this.elements = [
      h("div", { class: "row" }, h("label", { for: "model" }, "Model"), this.model),
      this.settings.element,
      this.log,
      this.form,
    ];
  }

  formElement() {
    const onsubmit = (event) => {
      event.preventDefault();
      void this.submit();
    };
    const onkeydown = (event) => {
      const isSend = event.key === "Enter" && !event.shiftKey && !event.isComposing;
      if (!isSend || event.target !== this.text) return;
      event.preventDefault();
      this.form.requestSubmit();
    };
    const { input, list } = this.attachments;
    const buttons = [this.sendButton, this.stopButton, this.newButton, input];
    return h("form", { onsubmit, onkeydown }, this.text, list, h("div", { class: "row" }, buttons));
  }

  clear() {
    conversation.messages = [];
    this.log.replaceChildren();
    this.text.focus();
  }

  async submit() {
    const text = this.text.value.trim();
    const files = this.attachments.files;
    if ((text === "" && files.length === 0) || this.running) return;
    const settings = this.settings.read();
    if (settings === undefined) return;
    const question = { role: "user", content: await partsOf(text, files) };
    this.text.value = "";
    this.attachments.clear();
    this.show(question);
    await this.ask(question, settings);
  }

  /** Sends a question and shows the response. */
  async ask(question, settings) {
    const answer = { role: "assistant", content: "" };
    const view = this.show(answer);
    this.setRunning(new AbortController());
    try {
      await this.receive(question, answer, settings, view);
      conversation.messages.push(question, answer);
    } catch (error) {
      if (!this.running.signal.aborted) this.showFailure(view, error, question, settings);
      else view.foot.textContent = "stopped";
      if (answer.content !== "") conversation.messages.push(question, answer);
    } finally {
      this.setRunning(undefined);
    }
  }

  setRunning(controller) {
    this.running = controller;
    this.sendButton.disabled = this.newButton.disabled = controller !== undefined;
    this.stopButton.hidden = controller === undefined;
  }

  async receive(question, answer, settings, view) {
    const body = {
      model: this.model.value,
      stream: true,
      stream_options: { include_usage: true },
      ...settings.parameters,
      messages: [...settings.system, ...conversation.messages.map(withoutNames), question],
    };
    const began = performance.now();
    const { signal } = this.running;
    const stream = await request("POST", "/v1/chat/completions", { body, signal });
    let usage;
    for await (const { data } of eventsOf(stream)) {
      if (data === "[DONE]") break;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ApiError(0, chunk.error.code, chunk.error.message);
      usage = chunk.usage ?? usage;
      this.addDelta(chunk.choices?.[0]?.delta ?? {}, answer, view);
    }
    const ms = Math.round(performance.now() - began);
    await showFoot(view.foot, stream.headers, usage, ms);
    this.scroll();
  }

  addDelta({ content, reasoning_content: thought, tool_calls: calls = [] }, answer, view) {
    if (thought) view.think(thought);
    for (const { function: call } of calls)
      view.call(`${call?.name ?? ""}${call?.arguments ?? ""}`);
    if (!content) return;
    answer.content += content;
    view.write(answer.content);
    this.scroll();
  }

  /** Shows the error in place of the response, with a button that sends the question again. */
  showFailure({ article, foot }, error, question, settings) {
    const id = error.requestId;
    const retry = () => {
      article.remove();
      void this.ask(question, settings);
    };
    foot.replaceChildren(
      h("div", { role: "alert" }, problem(error.message)),
      button("Try again", retry),
      id ? h("a", { href: href("requests", id) }, "request") : "",
    );
    this.scroll();
  }

  /** Scrolls to the end, after the browser has drawn the new text. */
  scroll() {
    requestAnimationFrame(() => {
      this.log.scrollTop = this.log.scrollHeight;
    });
  }

  show({ role, content }) {
    const view = new MessageView(role);
    view.write(content);
    this.log.append(view.article);
    this.scroll();
    return view;
  }
}

class MessageView {
  constructor(role) {
    this.role = role;
    this.thought = h("pre", {});
    this.thinking = h("details", { hidden: true }, h("summary", {}, "Reasoning"), this.thought);
    this.body = h("div", { class: "text" });
    this.calls = h("pre", { hidden: true });
    this.foot = h("div", { class: "muted small row" });
    this.article = h(
      "article",
      { class: `message ${role}` },
      h("h3", {}, role),
      this.thinking,
      this.body,
      this.calls,
      this.foot,
    );
  }

  /** Sets the content. It is drawn at most once per frame, since a stream may bring hundreds of pieces per second. */
  write(content) {
    this.content = content;
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      if (this.role === "assistant") showMarkdown(this.body, this.content);
      else this.body.replaceChildren(...[userContent(this.content)].flat());
    });
  }

  think(text) {
    this.thinking.hidden = false;
    this.thought.append(text);
  }

  call(text) {
    this.calls.hidden = false;
    this.calls.append(text);
  }
}

function userContent(content) {
  if (typeof content === "string") return content;
  return content.map((part) => {
    if (part.type === "text") return h("div", {}, part.text);
    return h("div", { class: "muted small" }, part.name ?? part.file?.filename ?? "picture");
  });
}

/** Returns the message as the gateway expects it, without the members that only this page uses. */
function withoutNames({ role, content }) {
  if (typeof content === "string") return { role, content };
  return { role, content: content.map(({ name: _name, ...part }) => part) };
}

async function showFoot(foot, headers, usage, ms) {
  const id = headers.get("x-request-id");
  const parts = [
    headers.get("x-portico-channel"),
    headers.get("x-portico-model"),
    duration(ms),
    usage ? `${count(usage.prompt_tokens)} + ${count(usage.completion_tokens)} tokens` : null,
    await costOf(id),
    headers.get("x-portico-cache") === "hit" ? "from the cache" : null,
  ];
  foot.replaceChildren(
    h("span", {}, parts.filter(Boolean).join(" · ")),
    id ? h("a", { href: href("requests", id) }, "request") : "",
  );
}

/** Reads the cost, which the gateway knows once the response has ended. */
async function costOf(id) {
  if (!id) return null;
  const { value } = await attempt(get(`/requests/${encodeURIComponent(id)}`));
  return value?.costUsd === undefined ? null : dollars(value.costUsd);
}

function defaultModel(models) {
  const names = models.map(({ id }) => id);
  return names.includes("echo") && names.length <= 2 ? "echo" : names[0];
}

const button = (label, onclick) => h("button", { type: "button", onclick }, label);
