/** Screenshots, PDF, highlight. */
import { errors } from "../errors.ts";
import type { CdpSession } from "../drivers/cdp.ts";
import { remainingMs, withTimeout } from "../deadline.ts";
import { toPublicError } from "../failures.ts";
import { readImageSize } from "../files/image-size.ts";
import { drawLabels } from "../tab/page-scripts.ts";
import { findElement, NEEDS_VISIBLE, tryOn } from "../actions/elements.ts";
import type { Trial } from "../actions/trial.ts";
import { storeFile } from "../files/placed-files.ts";
import {
  BytesResponse,
  checkCurrentPage,
  type CommonInput,
  type Op,
  getReadableTab,
} from "../op.ts";

interface ScreenshotInput extends CommonInput {
  fullPage?: boolean;
  ref?: string | number;
  type?: "png" | "jpeg";
  quality?: number;
}

/** True if the caller prefers that media type to JSON. */
const accepts = (op: Op, type: RegExp): boolean =>
  type.test(op.accept) && !/application\/json/.test(op.accept);

export async function takeScreenshot(op: Op, input: ScreenshotInput): Promise<object> {
  const type =
    input.type ??
    (/image\/jpeg/.test(op.accept) && !/image\/(png|\*)/.test(op.accept) ? "jpeg" : "png");
  if (input.ref !== undefined && input.fullPage) {
    throw errors.fullPageWithRef({ param: "fullPage" });
  }
  if (input.quality !== undefined && type === "png") {
    throw errors.qualityWithPng({ param: "quality" });
  }
  const isPlain = input.ref === undefined && !input.fullPage && !op.deps.libraryPresent();
  const { targetId, image } =
    isPlain || !op.deps.libraryPresent()
      ? await takePlainScreenshot(op, input, type)
      : await takeLibraryScreenshot(op, input, type);
  if (accepts(op, /image\/(\*|png|jpeg)/)) return new BytesResponse(image, `image/${type}`);
  const path = await storeFile(op, "screenshots", type === "jpeg" ? "jpg" : "png", image);
  return { ok: true, targetId, path, type, ...readImageSize(image) };
}

async function takeLibraryScreenshot(
  op: Op,
  input: ScreenshotInput,
  type: "png" | "jpeg",
): Promise<{ targetId: string; image: Buffer }> {
  const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
  const timeoutMs = input.timeoutMs ?? 15_000;
  const options = { type, quality: input.quality };
  const what = "The screenshot";
  if (input.ref !== undefined) {
    const work: Trial["work"] = (locator, limits) => locator.screenshot({ ...options, ...limits });
    const image = await tryOn({
      tab,
      ref: input.ref,
      needs: NEEDS_VISIBLE,
      what,
      timeoutMs,
      isExplicit: input.timeoutMs !== undefined,
      work,
    });
    return { targetId: tab.targetId, image: image as Buffer };
  }
  // The viewport is captured directly, since the library would measure the page first, which doubles the time.
  const capturing = input.fullPage
    ? tab.page.screenshot({ ...options, fullPage: true, timeout: timeoutMs })
    : capture(tab.cdp as unknown as CdpSession, type, input);
  const image = await withTimeout(timeoutMs + 500, what, capturing).catch((error: unknown) => {
    throw toPublicError(error, what);
  });
  return { targetId: tab.targetId, image };
}

/** Captures the viewport or the whole page without the library. An element needs the library (501). */
async function takePlainScreenshot(
  op: Op,
  input: ScreenshotInput,
  type: "png" | "jpeg",
): Promise<{ targetId: string; image: Buffer }> {
  if (input.ref !== undefined) await op.session.tabs.get(input.targetId);
  const targetId = await op.session.tabs.targetId(input.targetId);
  op.session.tabs.markUsed(targetId);
  const info = (await op.session.tabs.list()).find((tab) => tab.targetId === targetId);
  await checkCurrentPage(op, info?.url ?? "");
  const tab = await op.session.attachRawTab(targetId);
  try {
    const work = capture(tab, type, input);
    return {
      targetId,
      image: await withTimeout(input.timeoutMs ?? 15_000, "The screenshot", work),
    };
  } catch (error) {
    throw toPublicError(error, "The screenshot");
  } finally {
    await tab.detach();
  }
}

async function fullPageClip(tab: CdpSession): Promise<object> {
  type Metrics = { cssContentSize: { width: number; height: number } };
  const { cssContentSize } = await tab.send<Metrics>("Page.getLayoutMetrics");
  return { x: 0, y: 0, width: cssContentSize.width, height: cssContentSize.height, scale: 1 };
}

async function capture(
  tab: CdpSession,
  type: "png" | "jpeg",
  input: ScreenshotInput,
): Promise<Buffer> {
  const { data } = await tab.send<{ data: string }>("Page.captureScreenshot", {
    format: type,
    optimizeForSpeed: true,
    quality: input.quality,
    ...(input.fullPage ? { captureBeyondViewport: true, clip: await fullPageClip(tab) } : {}),
  });
  return Buffer.from(data, "base64");
}

interface PdfInput extends CommonInput {
  format?: string;
  landscape?: boolean;
}

const PAPER_FORMAT = /^(a[0-6]|letter|legal|tabloid|ledger)$/i;

export async function savePdf(op: Op, input: PdfInput): Promise<object> {
  const { format = "A4", landscape = false, timeoutMs = 30_000 } = input;
  if (!PAPER_FORMAT.test(format))
    throw errors.badPaper({ format: JSON.stringify(format) }, { param: "format" });
  const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
  const printing = tab.page.pdf({ format, landscape, printBackground: true });
  const content = await withTimeout(timeoutMs, "The PDF", printing).catch((error: unknown) => {
    throw toPublicError(error, "The PDF");
  });
  if (accepts(op, /application\/pdf/)) return new BytesResponse(content, "application/pdf");
  return {
    ok: true,
    targetId: tab.targetId,
    path: await storeFile(op, "pdf", "pdf", content),
    bytes: content.length,
  };
}

/** Draws a box around an element for a few seconds. */
export async function highlightElement(
  op: Op,
  input: CommonInput & { ref: string | number },
): Promise<object> {
  const tab = await getReadableTab(op, input.targetId, input.timeoutMs);
  const start = Date.now();
  const timeoutMs = input.timeoutMs ?? 5_000;
  const { locator, entry } = await findElement(tab, input.ref, NEEDS_VISIBLE, timeoutMs);
  await withTimeout(
    remainingMs(start, timeoutMs),
    "Scrolling to the element",
    locator.scrollIntoViewIfNeeded({ timeout: remainingMs(start, timeoutMs) }),
  ).catch((error: unknown) => {
    throw toPublicError(error, "The highlight");
  });
  const box = await withTimeout(
    timeoutMs,
    "Locating the element",
    locator.boundingBox({ timeout: remainingMs(start, timeoutMs) }),
  );
  if (box === null) throw errors.highlightHidden({ ref: entry.n });
  await withTimeout(
    timeoutMs,
    "Drawing the box",
    tab.page.evaluate(drawLabels, {
      labels: [{ text: "", ...box }],
      color: op.profile.color,
      ms: 4_000,
    }),
  );
  return { ok: true, targetId: tab.targetId };
}
