/** Status, start, stop. */
import { findBrowser } from "../connect/executables.ts";
import { userDataDir } from "../connect/launch.ts";
import { wantsHeadless } from "../connect/drivers.ts";
import { shownUrl } from "../profiles.ts";
import { isReachable, relayStatus } from "../relay/prepare.ts";
import type { Op } from "./op.ts";

export async function status(op: Op): Promise<object> {
  const { profile, session, config, parts } = op;
  const attachment = session.attachment;
  const managed = profile.driver === "managed";
  const cdpPort = attachment?.port ?? (managed ? await parts.profiles.port(profile) : null);
  const enforced = attachment?.egress ?? (managed && !config.attachOnly ? "enforced" : "best-effort");
  return {
    enabled: config.enabled,
    profile: profile.name,
    running: session.running || isReachable(op),
    driver: profile.driver,
    pid: attachment?.pid ?? null,
    cdpPort,
    cdpUrl: profile.cdpUrl === undefined ? `http://127.0.0.1:${cdpPort}` : shownUrl(profile.cdpUrl),
    executablePath:
      attachment?.executablePath ??
      (managed ? await findBrowser(config.executablePath, process.platform, parts.env).catch(() => null) : null),
    userDataDir: managed ? userDataDir(profile.dir) : null,
    headless: attachment?.headless ?? (managed ? wantsHeadless(config, parts.env) : null),
    color: profile.color,
    attachOnly: config.attachOnly,
    egress: enforced,
    library: parts.libraryPresent(),
    snapshotDefaults: config.snapshotDefaults,
    ...relayStatus(op),
  };
}

export async function start(op: Op, input: { headless?: boolean }): Promise<object> {
  const attachment = await op.session.start(input.headless === undefined ? {} : { headless: input.headless });
  return { ok: true, profile: op.profile.name, pid: attachment.pid ?? null };
}

export async function stop(op: Op): Promise<object> {
  return { ok: true, stopped: await op.session.stop(), profile: op.profile.name };
}
