/** What is wrong with the nodes that a gateway's browser profiles stand for. */
import { type Static, Type } from "portico";
import type { NodeStatus } from "../index.ts";

/** `browser.profiles`, of which the browser says what is valid. */
export const Profiles = Type.Unsafe<Record<string, { node?: string }>>({});
type Profiles = Static<typeof Profiles>;

export interface NodesStatus {
  mode: "auto" | "off";
  nodes: readonly NodeStatus[];
}

/** A sentence for each profile that no node answers for, with what to do. */
export function nodeNotices(
  profiles: Profiles | undefined,
  { mode, nodes }: NodesStatus,
): string[] {
  return Object.entries(profiles ?? {}).flatMap(([profile, { node: name }]) => {
    if (name === undefined) return [];
    const why = problemOf(name, mode, nodes);
    return why === undefined ? [] : [`Browser profile ${profile} cannot be used: ${why}.`];
  });
}

function problemOf(
  name: string,
  mode: "auto" | "off",
  nodes: readonly NodeStatus[],
): string | undefined {
  if (mode === "off") return "it names a node, but gateway.nodes.browser.mode is off";
  const node = nodes.find((node) => node.name === name);
  if (node?.state !== "connected") {
    const lastSeen = node === undefined ? "" : ` (last seen ${node.lastSeen})`;
    return `node ${name} is not connected${lastSeen}; run 'portico node --name ${name}' on the machine with the browser`;
  }
  return node.browser
    ? undefined
    : `node ${name} offers no browser (nodeHost.browserProxy.enabled, browser.enabled)`;
}
