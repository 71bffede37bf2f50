/** Problems with the nodes that a gateway's browser profiles name. */
import { type Static, Type } from "portico";
import type { NodeStatus } from "../index.ts";

/** `browser.profiles`. The browser plugin validates it. */
export const Profiles = Type.Unsafe<Record<string, { node?: string }>>({});
type Profiles = Static<typeof Profiles>;

export interface NodesStatus {
  mode: "auto" | "off";
  nodes: readonly NodeStatus[];
}

/** Returns a sentence for each profile whose node cannot serve it, with the remedy. */
export function nodeNotices(
  profiles: Profiles | undefined,
  { mode, nodes }: NodesStatus,
): string[] {
  return Object.entries(profiles ?? {}).flatMap(([profile, { node: name }]) => {
    if (name === undefined) return [];
    const problem = problemOf(name, mode, nodes);
    return problem === undefined ? [] : [`Browser profile ${profile} cannot be used: ${problem}.`];
  });
}

function problemOf(
  name: string,
  mode: "auto" | "off",
  nodes: readonly NodeStatus[],
): string | undefined {
  if (mode === "off") return "the profile names a node, but gateway.nodes.browser.mode is off";
  const node = nodes.find((node) => node.name === name);
  if (node?.state !== "connected") {
    const lastSeen = node === undefined ? "" : ` (last seen ${node.lastSeen})`;
    return `node ${name} is not connected${lastSeen}; run 'portico node --name ${name}' on the machine with the browser`;
  }
  return node.browser
    ? undefined
    : `node ${name} offers no browser: nodeHost.browserProxy.enabled or browser.enabled is false in its configuration`;
}
