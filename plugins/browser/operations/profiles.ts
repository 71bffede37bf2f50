/** Lists, creates, deletes and resets profiles. */
import { errors } from "../errors.ts";
import { attempt } from "../deadline.ts";
import { type Profile, redactUrl } from "../profiles.ts";
import { isReachable } from "../relay/prepare.ts";
import type { ProfileConfig } from "../schema.ts";
import type { Session } from "../session/session.ts";
import type { Op } from "../op.ts";

async function summarize(op: Op, profile: Profile): Promise<object> {
  const node = op.config.profiles[profile.name]?.node;
  if (node !== undefined) return summarizeOnNode(op, profile, node);
  const session = op.deps.session(profile);
  const isManaged = profile.driver === "managed";
  const isRelayReachable = isReachable({ ...op, profile, session });
  const cdpPort =
    session.attachment?.port ?? (isManaged ? await op.deps.profiles.port(profile) : null);
  return {
    name: profile.name,
    driver: profile.driver,
    cdpPort,
    cdpUrl:
      profile.cdpUrl === undefined ? `http://127.0.0.1:${cdpPort}` : redactUrl(profile.cdpUrl),
    color: profile.color,
    running: session.isRunning || isRelayReachable,
    tabCount: await countTabs(op, session, isRelayReachable),
    isDefault: profile.name === op.deps.profiles.defaultName,
    source: profile.source,
    proxy: profile.proxy && redactUrl(profile.proxy),
    userAgent: profile.userAgent,
    args: profile.args,
  };
}

async function countTabs(op: Op, session: Session, isRelayReachable: boolean): Promise<number> {
  if (isRelayReachable) return op.deps.relay?.tabs().length ?? 0;
  return session.isRunning ? (await attempt(2000, session.tabs.list(), [])).length : 0;
}

/** Summarizes a profile on a node. `GET /?profile=` requests the node's own status. */
function summarizeOnNode(op: Op, { name, color, source }: Profile, node: string): object {
  const isDefault = name === op.deps.profiles.defaultName;
  const unknownState = { cdpPort: null, cdpUrl: null, running: false, tabCount: 0 };
  return { name, driver: "node", node, ...unknownState, color, isDefault, source };
}

export async function listProfiles(op: Op): Promise<object> {
  const all = await op.deps.profiles.all();
  return {
    profiles: await Promise.all([...all.values()].map((profile) => summarize(op, profile))),
  };
}

export async function createProfile(
  op: Op,
  input: { name: string } & ProfileConfig,
): Promise<object> {
  const { name, color, cdpUrl, driver, cdpPort, proxy, userAgent, args } = input;
  const config: ProfileConfig = { color, cdpUrl, driver, cdpPort, proxy, userAgent, args };
  const profile = await op.deps.profiles.create(name, config);
  return { ok: true, profile: profile.name, ...(await summarize(op, profile)) };
}

/** Removes the profile, stops its browser and moves its data to the trash. */
export async function deleteProfile(op: Op, input: { name: string }): Promise<object> {
  const { profiles } = op.deps;
  const profile = await profiles.get(input.name);
  await profiles.remove(profile);
  await op.deps.session(profile).stop();
  return { ok: true, profile: profile.name, trashed: await profiles.moveToTrash(profile) };
}

/** Stops the browser and moves its data to the trash. The profile remains, without data. */
export async function resetProfile(op: Op, input: { name?: string }): Promise<object> {
  const profile = input.name === undefined ? op.profile : await op.deps.profiles.get(input.name);
  if (profile.driver !== "managed") {
    throw errors.nothingToReset({ profile: profile.name }, { param: "name" });
  }
  await op.deps.session(profile).stop();
  return { ok: true, profile: profile.name, trashed: await op.deps.profiles.moveToTrash(profile) };
}
