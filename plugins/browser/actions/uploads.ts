/**
 * Uploads files to a page, from the upload directory only: directly into an input, or through the chooser that opens.
 */
import { errors } from "../errors.ts";
import { checkUpload } from "../files/confine.ts";
import { attempt, remainingMs, withTimeout } from "../deadline.ts";
import { toPublicError } from "../failures.ts";
import type { FileChooser, Locator } from "../drivers/playwright.ts";
import type { Tab } from "../tab/tab.ts";
import { press } from "./clicking.ts";
import { NEEDS_CLICKABLE, findElement, NO_NEEDS, tryOn } from "./elements.ts";
import { getTmpDir } from "../files/placed-files.ts";
import type { Op } from "../op.ts";

/** Returns the files' real paths. Rejects with a 400 with `paths[i]` for a file that may not be uploaded. */
async function checkUploads(op: Op, paths: readonly string[]): Promise<string[]> {
  const root = await getTmpDir(op, "uploads");
  return Promise.all(paths.map((path, index) => checkUpload(root, path, `paths[${index}]`)));
}

/** Sets the files of a file input, or clicks the element that opens a chooser and sets the chooser's files. */
export async function uploadTo(
  op: Op,
  tab: Tab,
  ref: unknown,
  paths: readonly string[],
  timeoutMs: number,
  isExplicit: boolean,
): Promise<void> {
  const files = await checkUploads(op, paths);
  const start = Date.now();
  const { locator, probe } = await findElement(tab, ref, NO_NEEDS, timeoutMs);
  if (/^<input .*type="file"/.test(probe.tag)) {
    await withTimeout(
      remainingMs(start, timeoutMs) + 200,
      "The upload",
      locator.setInputFiles(files, { timeout: remainingMs(start, timeoutMs) }),
    ).catch((error: unknown) => {
      throw toPublicError(error, "The upload");
    });
    return;
  }
  const chooserOpened = new Promise<FileChooser>((resolve) => tab.armChooser(resolve, timeoutMs));
  try {
    await tryOn({
      tab,
      ref,
      needs: NEEDS_CLICKABLE,
      what: "The click that opens the file chooser",
      timeoutMs: remainingMs(start, timeoutMs),
      isExplicit,
      followsRedraw: true,
      work: (element, limits) => press(tab, limits, (pressLimits) => element.click(pressLimits)),
    });
    const chooser = await attempt(
      Math.min(CHOOSER_MS, remainingMs(start, timeoutMs)),
      chooserOpened,
      undefined,
    );
    if (chooser === undefined)
      return await dropFiles(locator, files, remainingMs(start, timeoutMs));
    await setChooserFiles(chooser, files, remainingMs(start, timeoutMs));
  } finally {
    tab.disarmChooser();
  }
}

/** The time in ms within which a click opens a chooser. */
const CHOOSER_MS = 3_000;

/** Drops the files on an element that opens no chooser. Rejects with a 422 if it accepts none. */
async function dropFiles(locator: Locator, files: string[], timeout: number): Promise<void> {
  try {
    await locator.drop({ files }, { timeout });
  } catch (error) {
    if (!/did not accept the drop/.test(String((error as Error).message)))
      throw toPublicError(error, "The drop");
    throw errors.acceptsNoFiles({ param: "ref", cause: error });
  }
}

async function setChooserFiles(
  chooser: FileChooser,
  files: string[],
  timeoutMs: number,
): Promise<void> {
  if (files.length > 1 && !chooser.isMultiple()) {
    throw errors.oneFileOnly({ param: "paths" });
  }
  await withTimeout(timeoutMs, "The upload", chooser.setFiles(files, { timeout: timeoutMs }));
}

interface FileChooserInput {
  paths: string[];
  ref?: string | number;
  targetId?: string;
  timeoutMs?: number;
}

const UPLOAD_MS = 20_000;
/** The default time in ms that a response to a chooser or dialog stays armed. */
const ARMED_MS = 120_000;

/** Arms the response to the next file chooser. With a ref, the files are set at once. */
export async function armFileChooser(op: Op, input: FileChooserInput): Promise<object> {
  const files = await checkUploads(op, input.paths);
  const tab = await op.session.tabs.get(input.targetId);
  tab.assertAlive();
  const { ref } = input;
  if (ref !== undefined) {
    const { timeoutMs = UPLOAD_MS } = input;
    const isExplicit = input.timeoutMs !== undefined;
    await tab.runExclusively(timeoutMs, "The upload", () =>
      uploadTo(op, tab, ref, input.paths, timeoutMs, isExplicit),
    );
    return { ok: true, targetId: tab.targetId };
  }
  const onChooser = (chooser: FileChooser): Promise<void> =>
    setChooserFiles(chooser, files, UPLOAD_MS).catch((error: unknown) => {
      op.deps.log.warn({ err: error }, "an armed file chooser could not be answered");
      // The caller received its response long ago, so the error is reported among the page's errors.
      tab.watch.errors.push({
        name: "UploadFailed",
        message: toPublicError(error, "The upload").message,
        at: Date.now(),
      });
    });
  tab.armChooser(onChooser, input.timeoutMs ?? ARMED_MS);
  return { ok: true, targetId: tab.targetId };
}

/** Arms the response to the next dialog. */
export async function armDialog(
  op: Op,
  input: { accept: boolean; promptText?: string; targetId?: string; timeoutMs?: number },
): Promise<object> {
  const tab = await op.session.tabs.get(input.targetId);
  tab.assertAlive();
  const { accept, promptText } = input;
  tab.dialogs.arm({ accept, promptText }, input.timeoutMs ?? ARMED_MS);
  return { ok: true, targetId: tab.targetId };
}
