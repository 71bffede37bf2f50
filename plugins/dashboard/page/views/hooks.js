/** The page of hooks: their states and problems, and one hook with its code and a test next to the list. */
import { attempt, get, post } from "../api.js";
import { action, ago, count, dataTable, duration, entryLink, h, section } from "../dom.js";
import { hookDetail } from "./hook-detail.js";
import { hookButtons, hookSummary } from "./hook-state.js";

export const hooks = {
  id: "hooks",
  title: "Hooks",
  load: () => attempt(get("/kernel/hooks")),
  render: (list, openName) =>
    section(
      "Hooks",
      list,
      ({ hooks: rows }) =>
        dataTable({
          key: "hooks",
          columns: columnsOf(openName),
          rows,
          empty:
            "There are no hooks. `portico hooks new NAME --event message:received` creates one.",
        }),
      action("Scan the disk for hooks", "rescan-hooks", rescan),
    ),
  detail: hookDetail,
};

async function rescan() {
  const { hooks: all } = await post("/kernel/hooks/rescan");
  return `${count(all.length)} hooks`;
}

/** Shows the name. A hook that one of the same name replaces has no link, since the name leads to the active one. */
function nameOf({ name, root, description, emoji, shadowedBy }, openName) {
  const text = `${emoji ? `${emoji} ` : ""}${name}`;
  return [
    shadowedBy ? text : entryLink("hooks", name, text, { isCurrent: name === openName }),
    h("div", { class: "muted small brief" }, [root, description].filter(Boolean).join(" · ")),
  ];
}

function columnsOf(openName) {
  const columns = [
    { title: "hook", value: ({ name }) => name, cell: (hook) => nameOf(hook, openName) },
    { title: "state", value: ({ state }) => state, cell: hookSummary },
  ];
  if (openName !== undefined) return columns;
  const names = ({ events }) => events.map(({ name }) => name).join(", ");
  return [
    columns[0],
    { title: "events", cell: (hook) => h("div", { class: "small brief" }, names(hook)) },
    columns[1],
    { title: "runs", kind: "number", value: ({ runs }) => runs, cell: runsOf },
    { title: "", kind: "actions", cell: (hook) => hookButtons(hook) },
  ];
}

function runsOf({ runs, failures, lastRun }) {
  return [
    count(runs),
    failures > 0 ? h("div", { class: "small bad" }, `${count(failures)} failed`) : null,
    lastRun
      ? h("div", { class: "muted small" }, ago(lastRun.at), `, ${duration(lastRun.ms)}`)
      : null,
  ];
}
