/** Differences between versions of the configuration, and the list of versions. */
import { attempt, get } from "../api.js";
import { ago, h, notice, table } from "../dom.js";

/** Shows one block for each key, with the value that was removed and the value that was added. */
export function differences(changes) {
  if (changes.length === 0) return h("p", { class: "empty" }, "No values changed.");
  return h("div", { class: "differences" }, changes.map(difference));
}

function difference({ key, kind, before, after }) {
  return h(
    "div",
    { class: "difference" },
    h("strong", {}, key),
    h("span", { class: "muted small" }, ` ${kind}`),
    kind === "added" ? null : h("pre", { class: "removed" }, textOf("− ", before)),
    kind === "removed" ? null : h("pre", { class: "added" }, textOf("+ ", after)),
  );
}

function textOf(sign, value) {
  return JSON.stringify(value, null, 2)
    .split("\n")
    .map((line) => sign + line)
    .join("\n");
}

/** Lists the versions, newest first. */
export function versionsTable(versions, restore) {
  const columns = [
    ["#", ({ id }) => String(id)],
    ["When", ({ at }) => ago(at), "nowrap"],
    ["Who", ({ principal }) => principal],
    ["From", ({ via, address }) => (address ? `${via}, ${address}` : via)],
    [
      "Changed",
      (version) =>
        version === versions.at(-1)
          ? h("span", { class: "muted" }, "the oldest stored version")
          : changedBy(version),
    ],
    [
      "",
      (version) =>
        version.id === versions[0].id
          ? h("span", { class: "muted" }, "current")
          : h(
              "button",
              {
                type: "button",
                "aria-label": `Restore version ${version.id}`,
                onclick: () => restore(version),
              },
              "Restore",
            ),
    ],
  ];
  return table(columns, versions, "No versions have been stored yet.");
}

function changedBy(version) {
  const { id, keys, restored } = version;
  const list = keys.length === 0 ? "comments or layout only" : keys.join(", ");
  const summary = restored === undefined ? list : `restored version ${restored}: ${list}`;
  const details = h("details", { "data-key": `version-${id}` }, h("summary", {}, summary));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) void showDifference(details, id);
  });
  return details;
}

async function showDifference(details, id) {
  const { value, error } = await attempt(get(`/kernel/config/diff?to=${id}`));
  details.append(error ? notice(error) : differences(value.changes));
}
