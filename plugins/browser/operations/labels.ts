/** Screenshots with boxes and refs drawn on them. */
import { attempt, remainingMs, within } from "../deadline.ts";
import { drawLabels, type Label } from "../tab/page-scripts.ts";
import type { AriaNode } from "../snapshot/aria-node.ts";
import { locatorOf } from "../snapshot/hidden-boxes.ts";
import { isInteractive } from "../snapshot/render.ts";
import type { Tab } from "../tab/tab.ts";
import { keepFile } from "../files/placed-files.ts";
import type { Op } from "../op.ts";

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** More boxes than this cover the page that they should explain. */
const MOST = 150;
/** Elements in frames are asked one by one. */
const MOST_IN_FRAMES = 40;

const inFrame = (node: AriaNode): boolean => /^f\d+e/.test(node.ref ?? "");

/** Where labelled elements are, in page coordinates of the viewport; interactive ones first where there are too many. */
async function boxes(
  tab: Tab,
  nodes: readonly { key: string; node: AriaNode }[],
): Promise<{ ref: string; box: Box }[]> {
  const size = (await tab.page.evaluate("({width: innerWidth, height: innerHeight})")) as {
    width: number;
    height: number;
  };
  // The main document's refs have a prefix too after the first navigation: it is the one of the first node.
  const prefix = /^(f\d+)?e/.exec(nodes[0]?.node.ref ?? "e")?.[1] ?? "";
  const own = (node: AriaNode): boolean => (/^(f\d+)?e/.exec(node.ref ?? "")?.[1] ?? "") === prefix;
  const labels: { ref: string; box: Box }[] = [];
  let requestedBoxes = 0;
  const boxOf = async (node: AriaNode): Promise<Box | null | undefined> => {
    if (!inFrame(node) || own(node)) return node.box;
    requestedBoxes += 1;
    return requestedBoxes > MOST_IN_FRAMES ? null : askForBox(tab, node);
  };
  for (const { key, node } of nodes.filter((one) => isInteractive(one.node))) {
    if (labels.length >= MOST) break;
    const box = await boxOf(node);
    if (box && isInSight(box, size)) labels.push({ ref: key, box: rounded(box) });
  }
  return labels;
}

const askForBox = (tab: Tab, node: AriaNode): Promise<Box | null> =>
  attempt(300, locatorOf(tab.page, node.ref!).boundingBox({ timeout: 300 }), null);

/** A box that has a size, at least a part of it within the viewport. */
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

const rounded = ({ x, y, width, height }: Box): Box => ({
  x: Math.round(x),
  y: Math.round(y),
  width: Math.round(width),
  height: Math.round(height),
});

/** A screenshot of the viewport with the refs of its interactive elements. */
export async function drawnScreenshot(
  op: Op,
  tab: Tab,
  nodes: readonly { key: string; node: AriaNode }[],
  timeoutMs: number,
): Promise<{ path: string; labels: { ref: string; box: Box }[] }> {
  const start = Date.now();
  const labels = await within(timeoutMs, "Locating the elements", boxes(tab, nodes));
  const drawn: Label[] = labels.map(({ ref, box }) => ({ text: ref, ...box }));
  await within(
    remainingMs(start, timeoutMs),
    "Drawing the labels",
    tab.page.evaluate(drawLabels, { labels: drawn, color: op.profile.color }),
  );
  try {
    const image = await within(
      remainingMs(start, timeoutMs) + 500,
      "The screenshot",
      tab.page.screenshot({ timeout: remainingMs(start, timeoutMs) }),
    );
    return { path: await keepFile(op, "screenshots", "png", image), labels };
  } finally {
    await attempt(1000, tab.page.evaluate(drawLabels, { labels: [], color: "" }), undefined);
  }
}
