/** The page of sessions: the agent's conversations, and the messages of one, with a form to continue it. */
import { attempt, del, get, post } from "../api.js";
import {
  action,
  ago,
  confirmDialog,
  count,
  dataTable,
  emptyText,
  entryLink,
  facts,
  h,
  href,
  idText,
  section,
  numberColumn,
} from "../dom.js";
import { openForm } from "../forms.js";
import { lengthOf, listEnd } from "../lists.js";
import { markdown } from "../markdown.js";

const FIRST = 100;
const FIRST_MESSAGES = 200;
const pathOf = (id) => `/sessions/${encodeURIComponent(id)}`;

export const sessions = {
  id: "sessions",
  title: "Sessions",
  load: () => attempt(get(`/sessions?limit=${lengthOf("sessions", FIRST)}`)),
  render: (list, openId) =>
    section("Sessions", list, ({ sessions: rows }) => [
      dataTable({
        key: "sessions",
        columns: columnsOf(openId),
        rows,
        empty: 'There are no sessions yet. `portico agent "hello"` starts one.',
      }),
      listEnd("sessions", FIRST, rows.length),
    ]),
  detail: {
    load: (id) => get(`${pathOf(id)}?last=${lengthOf(`messages-${id}`, FIRST_MESSAGES)}`),
    render: renderDetail,
  },
};

function columnsOf(openId) {
  const columns = [
    {
      title: "session",
      value: ({ id }) => id,
      cell: ({ id }) => entryLink("sessions", id, idText(id), { isCurrent: id === openId }),
    },
    {
      title: "last used",
      value: ({ updatedAt }) => updatedAt,
      cell: ({ updatedAt }) => ago(updatedAt),
    },
  ];
  if (openId !== undefined) return columns;
  return [
    columns[0],
    {
      title: "source",
      value: ({ source }) => source,
      kind: "word",
    },
    {
      title: "principal",
      value: ({ principal }) => principal,
      cell: ({ principal }) => idText(principal ?? "–"),
    },
    numberColumn("messages", ({ messageCount }) => messageCount),
    columns[1],
  ];
}

function renderDetail(session, id) {
  const { messages, createdAt, principal, agent } = session;
  return [
    facts([
      ["messages", count(session.messageCount ?? messages.length)],
      ["created", createdAt && ago(createdAt)],
      ["principal", principal],
      ["agent", agent],
    ]),
    h(
      "div",
      { class: "row" },
      h(
        "button",
        { type: "button", "data-key": "go-on", onclick: () => continueSession(id) },
        "Continue this session",
      ),
      action("Delete", "delete-session", () => remove(id), { class: "danger" }),
    ),
    messages.length === 0 ? emptyText("The session has no messages.") : null,
    listEnd(`messages-${id}`, FIRST_MESSAGES, messages.length),
    h("div", { class: "transcript" }, messages.map(messageOf)),
  ];
}

async function remove(id) {
  const isConfirmed = await confirmDialog({
    title: `Delete the session ${id}?`,
    content: "This permanently deletes the session with all its messages.",
    confirm: "Delete",
  });
  if (!isConfirmed) return false;
  await del(pathOf(id));
  location.hash = href("sessions");
  return `${id} is deleted`;
}

function continueSession(session) {
  openForm({
    title: `Continue ${session}`,
    fields: [{ name: "message", label: "Message", kind: "long", rows: 5, required: true }],
    save: "Send",
    async submit({ message }) {
      const { turnId } = await post("/agent", { message, session });
      location.hash = turnId === undefined ? href("sessions", session) : href("turns", turnId);
    },
  });
}

function messageOf({ role, at, content, name, turnId, tool_calls: calls }) {
  const text = textOf(content);
  return h(
    "article",
    { class: `message ${role}` },
    h(
      "h3",
      {},
      name ? `${role} ${name}` : role,
      " ",
      h("span", { class: "muted small" }, ago(at)),
      turnId ? [" ", h("a", { class: "small", href: href("turns", turnId) }, "turn")] : null,
    ),
    role === "assistant" ? markdown(text) : h("div", { class: "text" }, text),
    (calls ?? []).map((call) =>
      h("pre", {}, `${call.function?.name}(${call.function?.arguments ?? ""})`),
    ),
  );
}

function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n");
}
