/** Conversations of the agent, and what was said in one. */
import { attempt, del, get } from "../api.js";
import { action, ago, h, opened, section, table } from "../dom.js";
import { lengthOf, more } from "../lists.js";

export const sessions = {
  id: "sessions",
  title: "Sessions",
  async load(id) {
    const [list, one] = await Promise.all([
      attempt(get(`/sessions?limit=${lengthOf("sessions", 100)}`)),
      id === undefined
        ? undefined
        : attempt(get(`/sessions/${encodeURIComponent(id)}?last=${lengthOf(`said-${id}`, 200)}`)),
    ]);
    return { list, one };
  },
  render({ list, one }, id) {
    return h(
      "div",
      { class: "columns" },
      section("Sessions", list, ({ sessions: all }) => [
        table(
          [
            [
              "session",
              (row) =>
                h(
                  "a",
                  {
                    href: `#/sessions/${encodeURIComponent(row.id)}`,
                    "data-key": `session-${row.id}`,
                    "aria-current": row.id === id ? "true" : false,
                  },
                  row.id,
                ),
            ],
            ["messages", ({ messageCount }) => String(messageCount), "number"],
            ["used", ({ updatedAt }) => ago(updatedAt)],
          ],
          all,
          'There are no sessions yet. `portico agent "hello"` starts one.',
        ),
        more("sessions", 100, all.length),
      ]),
      one ? transcript(id, one) : null,
    );
  },
};

function transcript(id, one) {
  const remove = action("Delete", "delete-session", async () => {
    if (!confirm(`Delete the session ${id} and all that was said in it?`))
      return "Nothing was deleted";
    await del(`/sessions/${encodeURIComponent(id)}`);
    location.hash = "#/sessions";
    return `${id} is deleted`;
  });
  return opened(
    id,
    one,
    ({ messages }) => [
      messages.length === 0 ? h("p", { class: "empty" }, "Nothing was said.") : null,
      more(`said-${id}`, 200, messages.length),
      h("div", { class: "transcript" }, messages.map(message)),
    ],
    remove,
  );
}

function message({ role, at, content, name, tool_calls: calls }) {
  return h(
    "article",
    { class: `message ${role}` },
    h("h3", {}, name ? `${role} ${name}` : role, " ", h("span", { class: "muted small" }, ago(at))),
    h("div", { class: "text" }, textOf(content)),
    (calls ?? []).map((call) =>
      h("pre", {}, `${call.function?.name}(${call.function?.arguments ?? ""})`),
    ),
  );
}

function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n");
}
