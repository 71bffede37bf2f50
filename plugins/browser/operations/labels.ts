/** Takes screenshots with boxes and refs drawn on them. */
import { attempt, remainingMs, withTimeout } from "../deadline.ts";
import { drawLabels, type Label } from "../tab/page-scripts.ts";
import type { AriaNode } from "../snapshot/aria-node.ts";
import { locatorOf } from "../snapshot/hidden-boxes.ts";
import { isInteractive } from "../snapshot/render.ts";
import type { Tab } from "../tab/tab.ts";
import { storeFile } from "../files/placed-files.ts";
import type { Op } from "../op.ts";

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The maximum number of boxes; more would cover the page. */
const MAX_LABELS = 150;
/** The maximum number of boxes in frames, whose elements are measured one by one. */
const MAX_FRAME_BOXES = 40;

const isInFrame = (node: AriaNode): boolean => /^f\d+e/.test(node.ref ?? "");

/** Returns the boxes of the interactive elements in the viewport, in viewport coordinates. */
async function locateLabels(
  tab: Tab,
  nodes: readonly { key: string; node: AriaNode }[],
): Promise<{ ref: string; box: Box }[]> {
  const size = (await tab.page.evaluate("({width: innerWidth, height: innerHeight})")) as {
    width: number;
    height: number;
  };
  // After the first navigation, the main document's refs have a prefix too: that of the first node.
  const prefix = /^(f\d+)?e/.exec(nodes[0]?.node.ref ?? "e")?.[1] ?? "";
  const isInMainDocument = (node: AriaNode): boolean =>
    (/^(f\d+)?e/.exec(node.ref ?? "")?.[1] ?? "") === prefix;
  const labels: { ref: string; box: Box }[] = [];
  let requestedBoxes = 0;
  const boxOf = async (node: AriaNode): Promise<Box | null | undefined> => {
    if (!isInFrame(node) || isInMainDocument(node)) return node.box;
    requestedBoxes += 1;
    return requestedBoxes > MAX_FRAME_BOXES ? null : measureBox(tab, node);
  };
  for (const { key, node } of nodes.filter((entry) => isInteractive(entry.node))) {
    if (labels.length >= MAX_LABELS) break;
    const box = await boxOf(node);
    if (box && isInSight(box, size)) labels.push({ ref: key, box: roundBox(box) });
  }
  return labels;
}

const measureBox = (tab: Tab, node: AriaNode): Promise<Box | null> =>
  attempt(300, locatorOf(tab.page, node.ref!).boundingBox({ timeout: 300 }), null);

/** True if the box has a size and is at least partly in the viewport. */
const isInSight = (
  { x, y, width, height }: Box,
  viewport: { width: number; height: number },
): boolean =>
  width >= 1 &&
  height >= 1 &&
  x + width >= 0 &&
  y + height >= 0 &&
  x <= viewport.width &&
  y <= viewport.height;

const roundBox = ({ x, y, width, height }: Box): Box => ({
  x: Math.round(x),
  y: Math.round(y),
  width: Math.round(width),
  height: Math.round(height),
});

/** Takes a screenshot of the viewport with the refs of its interactive elements. */
export async function takeLabelledScreenshot(
  op: Op,
  tab: Tab,
  nodes: readonly { key: string; node: AriaNode }[],
  timeoutMs: number,
): Promise<{ path: string; labels: { ref: string; box: Box }[] }> {
  const start = Date.now();
  const labels = await withTimeout(timeoutMs, "Locating the elements", locateLabels(tab, nodes));
  const labelsToDraw: Label[] = labels.map(({ ref, box }) => ({ text: ref, ...box }));
  await withTimeout(
    remainingMs(start, timeoutMs),
    "Drawing the labels",
    tab.page.evaluate(drawLabels, { labels: labelsToDraw, color: op.profile.color }),
  );
  try {
    const image = await withTimeout(
      remainingMs(start, timeoutMs) + 500,
      "The screenshot",
      tab.page.screenshot({ timeout: remainingMs(start, timeoutMs) }),
    );
    return { path: await storeFile(op, "screenshots", "png", image), labels };
  } finally {
    await attempt(1000, tab.page.evaluate(drawLabels, { labels: [], color: "" }), undefined);
  }
}
