import { readOpenAiProblem, type UpstreamProblem } from "portico/provider";

/**
 * Reads Mistral's errors: `{object:"error",message,type,param,code}`, and FastAPI's `{detail:[{loc,msg}]}` where the
 * message is an object or a list.
 */
export function readProblem(status: number, body: Buffer): UpstreamProblem {
  const plain = readOpenAiProblem(status, body);
  const detail = firstDetail(body);
  if (detail === undefined) return plain;
  const param = detail.loc?.filter((step) => step !== "body").join(".");
  return { ...plain, message: detail.msg, param: param || plain.param };
}

function firstDetail(body: Buffer): { msg: string; loc?: (string | number)[] } | undefined {
  try {
    const parsed = JSON.parse(body.toString("utf8")) as {
      detail?: unknown;
      message?: { detail?: unknown } | null;
    } | null;
    const list = parsed?.message?.detail ?? parsed?.detail;
    const first = Array.isArray(list) ? (list[0] as { msg?: unknown; loc?: unknown }) : undefined;
    if (typeof first?.msg !== "string") return undefined;
    return {
      msg: first.msg,
      loc: Array.isArray(first.loc) ? (first.loc as (string | number)[]) : undefined,
    };
  } catch {
    return undefined;
  }
}
