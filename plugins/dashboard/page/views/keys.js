/** The clients' keys. */
import { attempt, del, get } from "../api.js";
import { action, badge, confirmDialog, count as number, section, table } from "../dom.js";

/** What stands in a key's limits, in words. */
const limits = ({ requestsPerMinute, tokensPerMinute, budget, expires }) =>
  [
    requestsPerMinute === undefined ? null : `${number(requestsPerMinute)} requests a minute`,
    tokensPerMinute === undefined ? null : `${number(tokensPerMinute)} tokens a minute`,
    budget === undefined ? null : `$${budget.usd} a ${budget.per}`,
    expires === undefined ? null : `until ${expires}`,
  ]
    .filter(Boolean)
    .join(", ") || "none";

async function revoke(name) {
  const isConfirmed = await confirmDialog({
    title: `Revoke the key ${name}?`,
    content:
      "The gateway refuses requests with this key at once. A revoked key cannot be restored.",
    confirm: "Revoke",
  });
  if (!isConfirmed) return false;
  await del(`/keys/${encodeURIComponent(name)}`);
  return `${name} is revoked`;
}

export const keys = {
  id: "keys",
  title: "Keys",
  load: () => attempt(get("/keys")),
  render: (list) =>
    section("Client keys", list, ({ keys: rows }) => [
      table(
        [
          ["name", ({ name }) => name],
          ["state", ({ state }) => badge(state)],
          ["models", ({ models }) => models?.join(" ") ?? "all but agents"],
          ["limits", limits],
          [
            "",
            ({ name }) =>
              action("Revoke", `revoke-${name}`, () => revoke(name), {
                "aria-label": `Revoke: ${name}`,
              }),
          ],
        ],
        rows,
        "There are no client keys. `portico keys add NAME` makes one, and shows it once.",
      ),
    ]),
};
