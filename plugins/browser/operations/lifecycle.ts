/** Status, start, stop. */
import { findBrowser } from "../drivers/executables.ts";
import { userDataDir } from "../drivers/launch.ts";
import { wantsHeadless } from "../drivers/attach.ts";
import { errors } from "../errors.ts";
import { shownUrl } from "../profiles.ts";
import { isReachable, relayStatus } from "../relay/prepare.ts";
import type { Op } from "../op.ts";

export async function status(op: Op): Promise<object> {
  const { profile, session, config, deps } = op;
  const attachment = session.attachment;
  const managed = profile.driver === "managed";
  const cdpPort = attachment?.port ?? (managed ? await deps.profiles.port(profile) : null);
  const enforced =
    attachment?.egress ?? (managed && !config.attachOnly ? "enforced" : "best-effort");
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
      (managed
        ? await findBrowser(config.executablePath, process.platform, deps.env).catch(() => null)
        : null),
    userDataDir: managed ? userDataDir(profile.dir) : null,
    headless: attachment?.headless ?? (managed ? wantsHeadless(config, deps.env) : null),
    color: profile.color,
    attachOnly: config.attachOnly,
    egress: enforced,
    library: deps.libraryPresent(),
    snapshotDefaults: config.snapshotDefaults,
    ...relayStatus(op),
  };
}

/** Starts the browser, or leaves the one that runs. 409 where that one is not as `headless` asks for it. */
export async function start(op: Op, input: { headless?: boolean }): Promise<object> {
  const attachment = await op.session.start(input);
  const { headless = input.headless } = attachment;
  if (headless !== input.headless && input.headless !== undefined)
    throw errors.runsOtherwise({ how: headless ? "without a window" : "with a window" });
  return { ok: true, profile: op.profile.name, pid: attachment.pid ?? null };
}

export async function stop(op: Op): Promise<object> {
  return { ok: true, stopped: await op.session.stop(), profile: op.profile.name };
}
