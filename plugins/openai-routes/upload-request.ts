/** Requests that bring a file: their body is kept on disk, so that none is too large for the memory or a second try. */
import type { Call } from "portico";
import { type ApiRoute, refused } from "portico/provider";
import type { ModelsService } from "portico/models";
import { errors } from "./errors.ts";
import { forwardJson, modelOf } from "./json-request.ts";
import { boundaryOf, createMultipartReader, type Field } from "./multipart.ts";
import { receive } from "./spool.ts";

/** Writes the response by itself. */
export async function forwardUpload(
  chat: ModelsService,
  call: Call,
  route: ApiRoute,
  maxBytes: number,
): Promise<void> {
  const contentType = call.req.headers["content-type"] ?? "";
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) {
    if (route === "images/edits" && /^application\/json/i.test(contentType))
      return forwardJson(chat, call, route);
    throw errors.notMultipart();
  }
  const reader = createMultipartReader(boundary);
  const spool = await receive(call, maxBytes, (bytes) => reader.push(bytes));
  try {
    const fields = byName(reader.end());
    const model = modelOf(
      route,
      Object.fromEntries([...fields].map(([name, field]) => [name, field.value])),
    );
    const stream = fields.get("stream")?.value === "true";
    await chat.forward(call, {
      route,
      model,
      stream,
      text: fields.get("prompt")?.value,
      // The meaning of the other fields is not known here.
      contentType: `multipart/form-data; boundary="${boundary}"`,
      body: (own, text) =>
        spool.source(
          [replacing(fields.get("model"), own), replacing(fields.get("prompt"), text)].flatMap(
            (one) => one ?? [],
          ),
        ),
    });
  } finally {
    await spool.close();
  }
}

/** A server may read names in any case and width, trim and decode them, or take `model[]` for a list. */
const NAMES_A_MODEL = /^[\s\p{C}]*models?[\s\p{C}]*(?:[.[].*)?$/isu;

/** Those that are no files. Which of two would count is not ours to guess: what was checked is what is sent. */
function byName(fields: readonly Field[]): Map<string, Field> {
  const known = new Map<string, Field>();
  for (const field of fields) {
    const { name, file } = field;
    if (NAMES_A_MODEL.test(decoded(name)) && (name !== "model" || file))
      throw refused(name, `\`${name}\` is not a field of this request: use \`model\``);
    if (file) continue;
    if (known.has(name) && (name === "model" || name === "prompt"))
      throw refused(name, `\`${name}\` occurs twice`);
    known.set(name, field);
  }
  return known;
}

function decoded(name: string): string {
  const text = name.replace(/%([0-7][\da-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return text.normalize("NFKC");
}

function replacing(field: Field | undefined, value: string | undefined) {
  return field === undefined || value === undefined || value === field.value
    ? undefined
    : { ...field, value };
}
