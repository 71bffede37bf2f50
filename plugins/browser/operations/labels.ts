/** Screenshots with boxes and refs drawn on them. */
import { attempt, left, within } from "../deadline.ts";
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
  const wanted = nodes.filter(({ node }) => isInteractive(node));
  const found: { ref: string; box: Box }[] = [];
  let asked = 0;
  for (const { key, node } of wanted) {
    if (found.length >= MOST) break;
    let box: Box | null | undefined = node.box;
    if (inFrame(node) && !own(node)) {
      if (++asked > MOST_IN_FRAMES) continue;
      box = await attempt(300, locatorOf(tab.page, node.ref!).boundingBox({ timeout: 300 }), null);
    }
    if (!box || box.width < 1 || box.height < 1) continue;
    if (
      box.x + box.width < 0 ||
      box.y + box.height < 0 ||
      box.x > size.width ||
      box.y > size.height
    )
      continue;
    found.push({
      ref: key,
      box: {
        x: Math.round(box.x),
        y: Math.round(box.y),
        width: Math.round(box.width),
        height: Math.round(box.height),
      },
    });
  }
  return found;
}

/** A screenshot of the viewport with the refs of its interactive elements. */
export async function drawnScreenshot(
  op: Op,
  tab: Tab,
  nodes: readonly { key: string; node: AriaNode }[],
  timeoutMs: number,
): Promise<{ path: string; labels: { ref: string; box: Box }[] }> {
  const start = Date.now();
  const labels = await within(timeoutMs, "Looking where the elements are", boxes(tab, nodes));
  const drawn: Label[] = labels.map(({ ref, box }) => ({ text: ref, ...box }));
  await within(
    left(start, timeoutMs),
    "Drawing the labels",
    tab.page.evaluate(drawLabels, { labels: drawn, color: op.profile.color }),
  );
  try {
    const image = await within(
      left(start, timeoutMs) + 500,
      "The screenshot",
      tab.page.screenshot({ timeout: left(start, timeoutMs) }),
    );
    return { path: await keepFile(op, "screenshots", "png", image), labels };
  } finally {
    await attempt(1000, tab.page.evaluate(drawLabels, { labels: [], color: "" }), undefined);
  }
}
