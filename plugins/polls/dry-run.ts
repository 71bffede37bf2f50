/** Shows what a check would find and send, without storing or sending anything. */
import type { PayloadSpec } from "portico/schedules";
import type { SourceCheck } from "./checking/check.ts";
import type { PollRunner } from "./checking/runner.ts";
import { render } from "./checking/template.ts";
import { errors } from "./errors.ts";
import { type Cursor, type PollBody, placeOf } from "./poll.ts";
import { CheckFailed } from "./sources/source.ts";

const TEXT_CHARS = 2_000;
const NEWS_ITEMS = 20;
const SAMPLE_ITEMS = 5;

export interface DryRunOptions {
  name: string;
  body: PollBody;
  /** Undefined for a poll that does not exist yet. */
  cursor: Cursor | undefined;
}

export async function runDryRun(runner: PollRunner, { name, body, cursor }: DryRunOptions) {
  const sourceCheck = await readOnce(runner, body, cursor);
  const { status, news, listed, httpStatus, bytes, sample } = sourceCheck;
  const text = sourceCheck.text?.slice(0, TEXT_CHARS);
  const url = placeOf(body.source);
  const diff = sourceCheck.diff ?? "";
  const item = selectExample(sourceCheck, text, url);
  const values = { item, url, count: news.length, name, id: "", diff };
  return {
    status,
    count: news.length,
    listed,
    httpStatus,
    bytes,
    news: news.slice(0, NEWS_ITEMS),
    sample: sample.slice(-SAMPLE_ITEMS),
    text,
    diff: sourceCheck.diff,
    wouldSend: item === undefined ? null : render(templateOf(body.payload), values),
  };
}

async function readOnce(
  runner: PollRunner,
  body: PollBody,
  cursor: Cursor | undefined,
): Promise<SourceCheck> {
  try {
    return await runner.read(body, cursor);
  } catch (error) {
    if (!(error instanceof CheckFailed)) throw error;
    throw errors.checkFailed({ problem: error.message }, { cause: error });
  }
}

/** Returns the item for the placeholders: a new one, else the last listed one, else the text. */
function selectExample(
  { news, sample }: SourceCheck,
  text: string | undefined,
  url: string,
): unknown {
  const textItem = text === undefined ? undefined : { text, url };
  return news[0] ?? sample.at(-1) ?? textItem;
}

function templateOf(payload: PayloadSpec): string {
  if (payload.kind === "systemEvent") return payload.text;
  return payload.kind === "agentTurn" ? payload.message : payload.event;
}
