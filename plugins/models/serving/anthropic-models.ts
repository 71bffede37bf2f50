/** Builds the list of models in Anthropic's format, for clients that send `anthropic-version`. */
import { refused } from "portico/provider";
import type { ModelEntry } from "../routing/models.ts";

interface AnthropicModel {
  type: "model";
  id: string;
  display_name: string;
  created_at: string;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;
/** Anthropic's clients ignore other names of a list, and show these unchanged. */
const ANTHROPIC_NAME = /^(?:claude|anthropic)/;

export function anthropicModel({
  id,
  created,
}: Pick<ModelEntry, "id" | "created">): AnthropicModel {
  const created_at = new Date(created * 1000).toISOString();
  return { type: "model", id, display_name: id, created_at };
}

/** Returns the page of the list that the query selects. Throws `invalid_request_error` for an invalid query. */
export function anthropicModels(models: readonly ModelEntry[], query: URLSearchParams) {
  const all = models.map(anthropicModel);
  const limit = readLimit(query);
  const page = pageOf(all, query, limit);
  return {
    data: page.data,
    has_more: page.hasMore,
    first_id: page.data[0]?.id ?? null,
    last_id: page.data.at(-1)?.id ?? null,
  };
}

/**
 * Returns the entries that clients of Anthropic can also request without a channel, such as `claude-opus-5` for
 * `claude/claude-opus-5`, unless the list has that id already.
 */
export function bareNames(models: readonly ModelEntry[]): ModelEntry[] {
  const ids = new Set(models.map(({ id }) => id));
  return models.flatMap((model) => {
    const name = model.id.slice(model.id.indexOf("/") + 1);
    if (!ANTHROPIC_NAME.test(name) || ids.has(name)) return [];
    ids.add(name);
    return [{ ...model, id: name }];
  });
}

function readLimit(query: URLSearchParams): number {
  const text = query.get("limit");
  if (text === null) return DEFAULT_LIMIT;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw refused("limit", `\`limit\` must be a whole number from 1 to ${MAX_LIMIT}`);
}

function pageOf(all: AnthropicModel[], query: URLSearchParams, limit: number) {
  const before = query.get("before_id");
  if (before !== null) {
    const end = indexOf(all, before, "before_id");
    const start = Math.max(0, end - limit);
    return { data: all.slice(start, end), hasMore: start > 0 };
  }
  const after = query.get("after_id");
  const start = after === null ? 0 : indexOf(all, after, "after_id") + 1;
  return { data: all.slice(start, start + limit), hasMore: start + limit < all.length };
}

function indexOf(all: readonly AnthropicModel[], id: string, param: string): number {
  const index = all.findIndex((model) => model.id === id);
  if (index === -1) throw refused(param, `\`${param}\` does not name a model in the list`);
  return index;
}
