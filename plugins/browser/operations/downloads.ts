/** Downloads: started by a click or already under way, saved under the download directory. */
import { stat, statfs } from "node:fs/promises";
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { openConfined } from "../files/confine.ts";
import { plainName } from "../files/own-files.ts";
import { remainingMs, within } from "../deadline.ts";
import { diskFull, failure, networkFailure } from "../failures.ts";
import type { Download } from "../drivers/playwright.ts";
import type { Tab } from "../tab/tab.ts";
import { press } from "../actions/clicking.ts";
import { CLICKED, tryOn } from "../actions/elements.ts";
import { checkPath, tmpDir } from "../files/placed-files.ts";
import { type Common, type Op, readableTab } from "../op.ts";

interface DownloadInput extends Common {
  ref: string | number;
  path?: string;
}

const DOWNLOAD_MS = 120_000;
/** Less than this is a full disk, however small the download was to be. */
const ROOM_BYTES = 64 << 10;

interface Watch {
  tooLarge(): boolean;
  /** What the server said, or what has come so far. */
  bytes(): number;
  stop(): void;
}

/** Follows a download, and stops one that grows beyond the limit. */
function watchSize(op: Op, tab: Tab, download: Download): Watch {
  const most = op.config.maxDownloadBytes;
  let bytes = 0;
  let over = false;
  const onProgress = ({
    receivedBytes,
    totalBytes,
  }: {
    receivedBytes: number;
    totalBytes: number;
  }): void => {
    bytes = Math.max(bytes, receivedBytes, totalBytes);
    if (over || bytes <= most) return;
    over = true;
    void download.cancel().catch(() => {});
  };
  tab.cdp.on("Page.downloadProgress", onProgress);
  return {
    tooLarge: () => over,
    bytes: () => bytes,
    stop: () => tab.cdp.off("Page.downloadProgress", onProgress),
  };
}

/** A browser that has no room for a download only says that it was cancelled. */
async function lacksRoom({ profile, session }: Op, bytes: number): Promise<boolean> {
  if (session.attachment?.isLocal !== true) return false;
  const { bavail, bsize } = await statfs(profile.dir);
  return bavail * bsize < Math.max(bytes, ROOM_BYTES);
}

const tooLarge = (op: Op): PorticoError =>
  errors.downloadTooLarge({ bytes: op.config.maxDownloadBytes });

/** The response once the download is at its path. */
async function save(
  op: Op,
  tab: Tab,
  download: Download,
  wanted: string | undefined,
  timeoutMs: number,
): Promise<object> {
  const watch = watchSize(op, tab, download);
  const suggestedFilename = plainName(download.suggestedFilename(), "download");
  const root = await tmpDir(op, "downloads");
  const name = wanted ?? suggestedFilename;
  const file = await openConfined(root, name, op.deps.whyProtected).catch(
    async (error: unknown) => {
      watch.stop();
      await download.cancel().catch(() => {});
      throw failure(error, "Saving the download");
    },
  );
  try {
    const failed = await within(timeoutMs, "The download", tab.whileAlive(download.failure()));
    if (watch.tooLarge()) throw tooLarge(op);
    if (failed !== null) {
      if (failed === "canceled" && (await lacksRoom(op, watch.bytes()))) throw diskFull();
      throw errors.downloadFailed({ reason: networkFailure(failed) ?? failed });
    }
    await within(timeoutMs, "Saving the download", download.saveAs(file.temporary));
    const { size } = await stat(file.temporary);
    if (size > op.config.maxDownloadBytes) throw tooLarge(op);
    // Copying took over the mode of the original.
    await file.handle.chmod(0o600);
    const path = await file.commit();
    const { targetId } = tab;
    return {
      ok: true,
      targetId,
      download: { url: download.url(), suggestedFilename, path, bytes: size },
    };
  } catch (error) {
    await file.discard();
    await download.cancel().catch(() => {});
    if (watch.tooLarge()) throw tooLarge(op);
    throw failure(error, "The download");
  } finally {
    watch.stop();
    void download.delete().catch(() => {});
  }
}

/** 501: a person's own browser saves to the directory that the person chose, and reports it to no client. */
function refuseOfRelay({ profile }: Op): void {
  if (profile.driver !== "extension") return;
  throw errors.downloadOverRelay();
}

/** Clicks an element and saves the download that it starts. */
export async function download(op: Op, input: DownloadInput): Promise<object> {
  refuseOfRelay(op);
  await checkPath(op, "downloads", input.path);
  const tab = await readableTab(op, input.targetId, input.timeoutMs);
  const start = Date.now();
  const timeoutMs = input.timeoutMs ?? DOWNLOAD_MS;
  const next = tab.downloads.fresh();
  try {
    await tab.exclusive(timeoutMs, "the download", () =>
      tryOn({
        tab,
        ref: input.ref,
        needs: CLICKED,
        what: "The click",
        timeoutMs: Math.min(8_000, timeoutMs),
        explicit: false,
        followsRedraw: true,
        work: (locator, limits) => press(tab, limits, (within) => locator.click(within)),
      }),
    );
    const waitMs = Math.min(input.timeoutMs ?? 15_000, remainingMs(start, timeoutMs));
    const begun = await within(
      waitMs,
      "Waiting for the download to begin (the click started none)",
      tab.whileAlive(next.promise),
    ).catch(async (error: unknown) => {
      await tab.stopLoading();
      throw error;
    });
    return await save(op, tab, begun, input.path, remainingMs(start, timeoutMs));
  } finally {
    next.cancel();
  }
}

/** Saves the next download, one that began in the last 30 s included. */
export async function waitDownload(op: Op, input: Common & { path?: string }): Promise<object> {
  refuseOfRelay(op);
  await checkPath(op, "downloads", input.path);
  const tab = await op.session.tabs.get(input.targetId);
  tab.assertAlive();
  const start = Date.now();
  const timeoutMs = input.timeoutMs ?? DOWNLOAD_MS;
  const next = tab.downloads.next();
  try {
    const begun = await within(
      timeoutMs,
      "Waiting for a download to begin",
      tab.whileAlive(next.promise),
    );
    return await save(op, tab, begun, input.path, remainingMs(start, timeoutMs));
  } finally {
    next.cancel();
  }
}
