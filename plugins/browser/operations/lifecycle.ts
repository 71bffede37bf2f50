/** Status, start and stop of a profile's browser. */
import { findBrowser } from "../drivers/executables.ts";
import { userDataDir } from "../drivers/launch.ts";
import { isHeadlessByDefault } from "../drivers/attach.ts";
import { errors } from "../errors.ts";
import { redactUrl } from "../profiles.ts";
import { isReachable, describeRelay } from "../relay/prepare.ts";
import type { Op } from "../op.ts";

export async function getStatus(op: Op): Promise<object> {
  const { profile, session, config, deps } = op;
  const attachment = session.attachment;
  const isManaged = profile.driver === "managed";
  const cdpPort = attachment?.port ?? (isManaged ? await deps.profiles.port(profile) : null);
  const egress =
    attachment?.egress ?? (isManaged && !config.attachOnly ? "enforced" : "best-effort");
  return {
    enabled: config.enabled,
    profile: profile.name,
    running: session.isRunning || isReachable(op),
    driver: profile.driver,
    pid: attachment?.pid ?? null,
    cdpPort,
    cdpUrl:
      profile.cdpUrl === undefined ? `http://127.0.0.1:${cdpPort}` : redactUrl(profile.cdpUrl),
    executablePath:
      attachment?.executablePath ??
      (isManaged
        ? await findBrowser(config.executablePath, process.platform, deps.env).catch(() => null)
        : null),
    userDataDir: isManaged ? userDataDir(profile.dir) : null,
    headless: attachment?.headless ?? (isManaged ? isHeadlessByDefault(config, deps.env) : null),
    color: profile.color,
    attachOnly: config.attachOnly,
    egress,
    library: deps.libraryPresent(),
    snapshotDefaults: config.snapshotDefaults,
    ...describeRelay(op),
  };
}

/** Starts the browser unless it runs. Rejects with a 409 if it runs with another value of `headless`. */
export async function startBrowser(op: Op, input: { headless?: boolean }): Promise<object> {
  const attachment = await op.session.start(input);
  const { headless = input.headless } = attachment;
  if (headless !== input.headless && input.headless !== undefined)
    throw errors.runsInOtherMode({ how: headless ? "without a window" : "with a window" });
  return { ok: true, profile: op.profile.name, pid: attachment.pid ?? null };
}

export async function stopBrowser(op: Op): Promise<object> {
  return { ok: true, stopped: await op.session.stop(), profile: op.profile.name };
}
