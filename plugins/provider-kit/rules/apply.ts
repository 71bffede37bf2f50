/** Adapts a finished request to its provider: applies the provider's list of rules in order. */
import { isPorticoError, PorticoError } from "portico";
import { sourcePath } from "./places.ts";
import type { RequestRule, RuleChat, RuleMessages, RuleNotes, RuleTarget } from "../types/rules.ts";

/** A request that satisfies its provider's rules. */
export interface Applied<Request> {
  /** The same object if no rule changed anything. */
  request: Request;
  /** For `x-portico-changed`: a rule's name and a place, such as `unique-tool-ids messages[3].tool_calls[0].id`. */
  changed: string[];
  /** For `x-portico-dropped`: the paths of removed members. */
  dropped: string[];
}

/** Facts about a request that its body does not contain. */
export interface RequestFacts {
  target: RuleTarget;
  isTranslated?: boolean;
  isWellFormed?: boolean;
}

/** Applies the rules to a request in OpenAI's chat form. */
export function applyChatRules(
  rules: readonly RequestRule[],
  request: RuleChat,
  facts: RequestFacts,
): Applied<RuleChat> {
  return apply(rules, request, facts, (rule) => rule.chat);
}

/** Applies the rules to a request in the form of the Messages API. */
export function applyMessagesRules(
  rules: readonly RequestRule[],
  request: RuleMessages,
  facts: RequestFacts,
): Applied<RuleMessages> {
  return apply(rules, request, facts, (rule) => rule.messages);
}

type Step<Request> = ((request: Request, notes: RuleNotes) => Request) | undefined;

function apply<Request extends RuleMessages>(
  rules: readonly RequestRule[],
  original: Request,
  facts: RequestFacts,
  stepOf: (rule: RequestRule) => Step<Request>,
): Applied<Request> {
  const run = new RuleRun(original, facts);
  let request = original;
  for (const rule of rules) {
    const step = stepOf(rule);
    if (step === undefined || rule.only?.test(facts.target) === false) continue;
    const input = request;
    run.begin(rule, input);
    request = atSource(input, () => step(input, run));
  }
  return { request, changed: run.changed, dropped: run.dropped };
}

/** Records the changes of the rule that is being applied. */
class RuleRun implements RuleNotes {
  readonly changed: string[] = [];
  readonly dropped: string[] = [];
  readonly target: RuleTarget;
  readonly isTranslated: boolean;
  readonly isWellFormed: boolean;
  /** The request to which the rule is applied. */
  #request: RuleMessages;
  #name = "";

  constructor(
    request: RuleMessages,
    { target, isTranslated = false, isWellFormed = false }: RequestFacts,
  ) {
    this.#request = request;
    this.target = target;
    this.isTranslated = isTranslated;
    this.isWellFormed = isWellFormed;
  }

  begin({ name }: RequestRule, request: RuleMessages): void {
    this.#name = name;
    this.#request = request;
  }

  change = (place: string): void => {
    this.changed.push(`${this.#name} ${sourcePath(this.#request, place)}`);
  };

  drop = (path: string): void => {
    this.dropped.push(sourcePath(this.#request, path));
  };
}

/**
 * Runs `work` on a request that rules have changed. Converts the `param` of its error to the place in the request as the
 * client sent it, before rules inserted or moved messages.
 */
export function atSource<Result>(request: RuleMessages, work: () => Result): Result {
  try {
    const result = work();
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw withSourceParam(request, error);
    }) as Result;
  } catch (error) {
    throw withSourceParam(request, error);
  }
}

function withSourceParam(request: RuleMessages, error: unknown): unknown {
  if (!isPorticoError(error) || error.param === undefined) return error;
  const param = sourcePath(request, error.param);
  if (param === error.param) return error;
  const { code, message, status, type, headers, details } = error;
  return new PorticoError(code, message, {
    status,
    param,
    type,
    headers,
    details,
    cause: error,
  });
}
