/** Profiles: list, make, delete, reset. */
import { errors } from "../errors.ts";
import { attempt } from "../deadline.ts";
import { type Profile, shownUrl } from "../profiles.ts";
import { isReachable } from "../relay/prepare.ts";
import type { ProfileConfig } from "../schema.ts";
import type { Session } from "../session/session.ts";
import type { Op } from "../op.ts";

async function summary(op: Op, profile: Profile): Promise<object> {
  const node = op.config.profiles[profile.name]?.node;
  if (node !== undefined) return summaryOfNode(op, profile, node);
  const session = op.deps.session(profile);
  const managed = profile.driver === "managed";
  const reachable = isReachable({ ...op, profile, session });
  const cdpPort =
    session.attachment?.port ?? (managed ? await op.deps.profiles.port(profile) : null);
  return {
    name: profile.name,
    driver: profile.driver,
    cdpPort,
    cdpUrl: profile.cdpUrl === undefined ? `http://127.0.0.1:${cdpPort}` : shownUrl(profile.cdpUrl),
    color: profile.color,
    running: session.running || reachable,
    tabCount: await tabCount(op, session, reachable),
    isDefault: profile.name === op.deps.profiles.defaultName,
    source: profile.source,
    proxy: profile.proxy && shownUrl(profile.proxy),
    userAgent: profile.userAgent,
    args: profile.args,
  };
}

async function tabCount(op: Op, session: Session, reachable: boolean): Promise<number> {
  if (reachable) return op.deps.relay?.tabs().length ?? 0;
  return session.running ? (await attempt(2000, session.tabs.list(), [])).length : 0;
}

/** Whether it runs is the node's to say: `GET /?profile=` asks it. */
function summaryOfNode(op: Op, { name, color, source }: Profile, node: string): object {
  const isDefault = name === op.deps.profiles.defaultName;
  const elsewhere = { cdpPort: null, cdpUrl: null, running: false, tabCount: 0 };
  return { name, driver: "node", node, ...elsewhere, color, isDefault, source };
}

export async function listProfiles(op: Op): Promise<object> {
  const all = await op.deps.profiles.all();
  return { profiles: await Promise.all([...all.values()].map((profile) => summary(op, profile))) };
}

export async function createProfile(
  op: Op,
  input: { name: string } & ProfileConfig,
): Promise<object> {
  const { name, color, cdpUrl, driver, cdpPort, proxy, userAgent, args } = input;
  const given: ProfileConfig = { color, cdpUrl, driver, cdpPort, proxy, userAgent, args };
  const profile = await op.deps.profiles.create(name, given);
  return { ok: true, profile: profile.name, ...(await summary(op, profile)) };
}

/** Stops the browser, forgets the profile and moves its data to the trash. */
export async function deleteProfile(op: Op, input: { name: string }): Promise<object> {
  const { profiles } = op.deps;
  const profile = await profiles.get(input.name);
  await profiles.forget(profile);
  await op.deps.session(profile).stop();
  return { ok: true, profile: profile.name, trashed: await profiles.trash(profile) };
}

/** Stops the browser and moves its data to the trash; the profile stays and starts empty. */
export async function resetProfile(op: Op, input: { name?: string }): Promise<object> {
  const profile = input.name === undefined ? op.profile : await op.deps.profiles.get(input.name);
  if (profile.driver !== "managed") {
    throw errors.nothingToReset({ profile: profile.name }, { param: "name" });
  }
  await op.deps.session(profile).stop();
  return { ok: true, profile: profile.name, trashed: await op.deps.profiles.trash(profile) };
}
