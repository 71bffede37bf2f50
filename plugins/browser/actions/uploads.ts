/** Files for a page: from the upload directory only, into an input directly or through the chooser that it opens. */
import { errors } from "../errors.ts";
import { checkUpload } from "../files/confine.ts";
import { attempt, remainingMs, within } from "../deadline.ts";
import { failure } from "../failures.ts";
import type { FileChooser, Locator } from "../drivers/playwright.ts";
import type { Tab } from "../tab/tab.ts";
import { press } from "./clicking.ts";
import { CLICKED, findElement, NOTHING, tryOn } from "./elements.ts";
import { tmpDir } from "../files/placed-files.ts";
import type { Op } from "../op.ts";

/** The files' real paths. 400 with `paths[i]` for one that may not be handed on. */
async function checkUploads(op: Op, paths: readonly string[]): Promise<string[]> {
  const root = await tmpDir(op, "uploads");
  return Promise.all(paths.map((path, index) => checkUpload(root, path, `paths[${index}]`)));
}

/** Sets a file input, or clicks what opens a chooser and answers that. */
export async function uploadTo(
  op: Op,
  tab: Tab,
  ref: unknown,
  paths: readonly string[],
  timeoutMs: number,
  explicit: boolean,
): Promise<void> {
  const files = await checkUploads(op, paths);
  const start = Date.now();
  const { locator, probe } = await findElement(tab, ref, NOTHING, timeoutMs);
  if (/^<input .*type="file"/.test(probe.tag)) {
    await within(
      remainingMs(start, timeoutMs) + 200,
      "The upload",
      locator.setInputFiles(files, { timeout: remainingMs(start, timeoutMs) }),
    ).catch((error: unknown) => {
      throw failure(error, "The upload");
    });
    return;
  }
  const chosen = new Promise<FileChooser>((resolve) => tab.armChooser(resolve, timeoutMs));
  try {
    await tryOn({
      tab,
      ref,
      needs: CLICKED,
      what: "The click that opens the file chooser",
      timeoutMs: remainingMs(start, timeoutMs),
      explicit,
      followsRedraw: true,
      work: (found, limits) => press(tab, limits, (within) => found.click(within)),
    });
    const chooser = await attempt(
      Math.min(CHOOSER_MS, remainingMs(start, timeoutMs)),
      chosen,
      undefined,
    );
    if (chooser === undefined) return await dropOn(locator, files, remainingMs(start, timeoutMs));
    await answerChooser(chooser, files, remainingMs(start, timeoutMs));
  } finally {
    tab.disarmChooser();
  }
}

/** A click that opens a chooser has done so by then. */
const CHOOSER_MS = 3_000;

/** Drops the files on an element that opens no chooser. 422 where it takes none. */
async function dropOn(locator: Locator, files: string[], timeout: number): Promise<void> {
  try {
    await locator.drop({ files }, { timeout });
  } catch (error) {
    if (!/did not accept the drop/.test(String((error as Error).message)))
      throw failure(error, "The drop");
    throw errors.takesNoFiles({ param: "ref", cause: error });
  }
}

async function answerChooser(
  chooser: FileChooser,
  files: string[],
  timeoutMs: number,
): Promise<void> {
  if (files.length > 1 && !chooser.isMultiple()) {
    throw errors.oneFileOnly({ param: "paths" });
  }
  await within(timeoutMs, "The upload", chooser.setFiles(files, { timeout: timeoutMs }));
}

interface FileChooserInput {
  paths: string[];
  ref?: string | number;
  targetId?: string;
  timeoutMs?: number;
}

const UPLOAD_MS = 20_000;
/** How long an armed chooser or dialog answer stays armed, ms, unless the caller says otherwise. */
const ARMED_MS = 120_000;

/** Prepares the answer to the next file chooser; with a ref the files are set at once. */
export async function armFileChooser(op: Op, input: FileChooserInput): Promise<object> {
  const files = await checkUploads(op, input.paths);
  const tab = await op.session.tabs.get(input.targetId);
  tab.assertAlive();
  const { ref } = input;
  if (ref !== undefined) {
    const { timeoutMs = UPLOAD_MS } = input;
    const isExplicit = input.timeoutMs !== undefined;
    await tab.exclusive(timeoutMs, "the upload", () =>
      uploadTo(op, tab, ref, input.paths, timeoutMs, isExplicit),
    );
    return { ok: true, targetId: tab.targetId };
  }
  const take = (chooser: FileChooser): Promise<void> =>
    answerChooser(chooser, files, UPLOAD_MS).catch((error: unknown) => {
      op.deps.log.warn({ err: error }, "an armed file chooser could not be answered");
      // The caller that armed it received its response long ago, and looks here.
      tab.watch.errors.push({
        name: "UploadFailed",
        message: failure(error, "The upload").message,
        at: Date.now(),
      });
    });
  tab.armChooser(take, input.timeoutMs ?? ARMED_MS);
  return { ok: true, targetId: tab.targetId };
}

/** Prepares the answer to the next dialog. */
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
