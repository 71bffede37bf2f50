/** Saves downloads, started by a click or already in progress, below the download directory. */
import { stat, statfs } from "node:fs/promises";
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { openConfined } from "../files/confine.ts";
import { plainName } from "../files/own-files.ts";
import { remainingMs, withTimeout } from "../deadline.ts";
import { diskFullError, toPublicError, describeNetworkError } from "../failures.ts";
import type { Download } from "../drivers/playwright.ts";
import type { Tab } from "../tab/tab.ts";
import { press } from "../actions/clicking.ts";
import { NEEDS_CLICKABLE, tryOn } from "../actions/elements.ts";
import { checkPath, getTmpDir } from "../files/placed-files.ts";
import { type CommonInput, type Op, getReadableTab } from "../op.ts";

interface DownloadInput extends CommonInput {
  ref: string | number;
  path?: string;
}

const DOWNLOAD_MS = 120_000;
/** The free space in bytes below which the disk counts as full, however small the download is. */
const MIN_FREE_BYTES = 64 << 10;

interface SizeWatch {
  isTooLarge(): boolean;
  /** The announced size, or the number of bytes received so far. */
  bytes(): number;
  stop(): void;
}

/** Watches the size of a download, and cancels it if it exceeds the limit. */
function watchSize(op: Op, tab: Tab, download: Download): SizeWatch {
  const maxBytes = op.config.maxDownloadBytes;
  let bytes = 0;
  let isTooLarge = false;
  const onProgress = ({
    receivedBytes,
    totalBytes,
  }: {
    receivedBytes: number;
    totalBytes: number;
  }): void => {
    bytes = Math.max(bytes, receivedBytes, totalBytes);
    if (isTooLarge || bytes <= maxBytes) return;
    isTooLarge = true;
    void download.cancel().catch(() => {});
  };
  tab.cdp.on("Page.downloadProgress", onProgress);
  return {
    isTooLarge: () => isTooLarge,
    bytes: () => bytes,
    stop: () => tab.cdp.off("Page.downloadProgress", onProgress),
  };
}

/** True if the disk is full. The browser itself only reports such a download as cancelled. */
async function isDiskFull({ profile, session }: Op, bytes: number): Promise<boolean> {
  if (session.attachment?.isLocal !== true) return false;
  const { bavail, bsize } = await statfs(profile.dir);
  return bavail * bsize < Math.max(bytes, MIN_FREE_BYTES);
}

const tooLargeError = (op: Op): PorticoError =>
  errors.downloadTooLarge({ bytes: op.config.maxDownloadBytes });

/** Saves a download to its path and returns the response. */
async function saveDownload(
  op: Op,
  tab: Tab,
  download: Download,
  requestedPath: string | undefined,
  timeoutMs: number,
): Promise<object> {
  const watch = watchSize(op, tab, download);
  const suggestedFilename = plainName(download.suggestedFilename(), "download");
  const root = await getTmpDir(op, "downloads");
  const name = requestedPath ?? suggestedFilename;
  const file = await openConfined(root, name, op.deps.whyProtected).catch(
    async (error: unknown) => {
      watch.stop();
      await download.cancel().catch(() => {});
      throw toPublicError(error, "Saving the download");
    },
  );
  try {
    const failure = await withTimeout(
      timeoutMs,
      "The download",
      tab.whileAlive(download.failure()),
    );
    if (watch.isTooLarge()) throw tooLargeError(op);
    if (failure !== null) {
      if (failure === "canceled" && (await isDiskFull(op, watch.bytes()))) throw diskFullError();
      throw errors.downloadFailed({ reason: describeNetworkError(failure) ?? failure });
    }
    await withTimeout(timeoutMs, "Saving the download", download.saveAs(file.temporary));
    const { size } = await stat(file.temporary);
    if (size > op.config.maxDownloadBytes) throw tooLargeError(op);
    // The copy has the mode of the original file.
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
    if (watch.isTooLarge()) throw tooLargeError(op);
    throw toPublicError(error, "The download");
  } finally {
    watch.stop();
    void download.delete().catch(() => {});
  }
}

/**
 * Throws a 501 for a relay profile: a user's own browser saves to the directory that the user chose, and does not
 * report downloads to clients.
 */
function rejectRelay({ profile }: Op): void {
  if (profile.driver !== "extension") return;
  throw errors.downloadOverRelay();
}

/** Clicks an element and saves the download that the click starts. */
export async function saveClickedDownload(op: Op, input: DownloadInput): Promise<object> {
  rejectRelay(op);
  await checkPath(op, "downloads", input.path);
  const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
  const start = Date.now();
  const timeoutMs = input.timeoutMs ?? DOWNLOAD_MS;
  const next = tab.downloads.nextFromNow();
  try {
    await tab.runExclusively(timeoutMs, "The download", () =>
      tryOn({
        tab,
        ref: input.ref,
        needs: NEEDS_CLICKABLE,
        what: "The click",
        timeoutMs: Math.min(8_000, timeoutMs),
        isExplicit: false,
        followsRedraw: true,
        work: (locator, limits) => press(tab, limits, (pressLimits) => locator.click(pressLimits)),
      }),
    );
    const waitMs = Math.min(input.timeoutMs ?? 15_000, remainingMs(start, timeoutMs));
    const startedDownload = await withTimeout(
      waitMs,
      "The start of the download",
      tab.whileAlive(next.promise),
      ({ ms }) => errors.downloadNotStarted({ ms }),
    ).catch(async (error: unknown) => {
      await tab.stopLoading();
      throw error;
    });
    return await saveDownload(op, tab, startedDownload, input.path, remainingMs(start, timeoutMs));
  } finally {
    next.cancel();
  }
}

/** Saves the next download, or one that began in the last 30 s. */
export async function saveNextDownload(
  op: Op,
  input: CommonInput & { path?: string },
): Promise<object> {
  rejectRelay(op);
  await checkPath(op, "downloads", input.path);
  const tab = await op.session.tabs.get(input.targetId);
  tab.assertAlive();
  const start = Date.now();
  const timeoutMs = input.timeoutMs ?? DOWNLOAD_MS;
  const next = tab.downloads.next();
  try {
    const startedDownload = await withTimeout(
      timeoutMs,
      "The start of a download",
      tab.whileAlive(next.promise),
      ({ ms }) => errors.noDownload({ ms }),
    );
    return await saveDownload(op, tab, startedDownload, input.path, remainingMs(start, timeoutMs));
  } finally {
    next.cancel();
  }
}
