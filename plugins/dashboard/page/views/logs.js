/** The gateway's last log lines. */
import { attempt, get } from "../api.js";
import { badge, h, section, table } from "../dom.js";

const known = new Set(["level", "time", "msg"]);
const rest = (entry) =>
  Object.entries(entry)
    .filter(([name]) => !known.has(name))
    .map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(" ");

export const logs = {
  id: "logs",
  title: "Logs",
  load: async () => {
    const [warnings, lines] = await Promise.all(
      ["/kernel/logs?lines=50&level=warn", "/kernel/logs?lines=200"].map((path) =>
        attempt(get(path)),
      ),
    );
    return { warnings, lines };
  },
  render: ({ warnings, lines }) =>
    h("div", {}, part("Warnings and errors", warnings), part("The last lines", lines)),
};

const part = (title, result) =>
  section(title, result, ({ lines }) => [
    table(
      [
        ["time", ({ time }) => h("time", {}, new Date(time).toLocaleTimeString())],
        ["level", ({ level }) => badge(level)],
        [
          "what",
          (entry) => [
            entry.msg ?? "",
            h("div", { class: "muted small" }, rest(entry).slice(0, 500)),
          ],
        ],
      ],
      [...lines].reverse(),
      "Nothing.",
    ),
  ]);
