/** Requests with a file. Their body is stored on disk, so that it needs little memory and can be sent again. */
import type { Call } from "portico";
import { type ApiRoute, refused } from "portico/provider";
import type { ModelsService } from "portico/models";
import { errors } from "./errors.ts";
import { forwardJson, modelOf } from "./json-request.ts";
import { boundaryOf, createMultipartReader, type Field } from "./multipart.ts";
import { receiveBody } from "./spool.ts";

/** Forwards the request, and writes the response. */
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
  const spool = await receiveBody(call, maxBytes, (bytes) => reader.push(bytes));
  try {
    const fields = indexByName(reader.end());
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
      // The gateway does not know the meaning of the other fields, so they pass unchanged.
      contentType: `multipart/form-data; boundary="${boundary}"`,
      body: (upstreamModel, text) =>
        spool.source(
          [
            replaceValue(fields.get("model"), upstreamModel),
            replaceValue(fields.get("prompt"), text),
          ].flatMap((replacement) => replacement ?? []),
        ),
    });
  } finally {
    await spool.close();
  }
}

/** Matches every name that a server may read as `model`: in any case or width, untrimmed, or as a list (`model[]`). */
const NAMES_A_MODEL = /^[\s\p{C}]*models?[\s\p{C}]*(?:[.[].*)?$/isu;

/**
 * Returns the fields that are no files, by name. Throws 400 for a second model or prompt, and for names that a server could
 * read as `model`: the upstream must use the value that was checked here.
 */
function indexByName(fields: readonly Field[]): Map<string, Field> {
  const fieldsByName = new Map<string, Field>();
  for (const field of fields) {
    const { name, file } = field;
    if (NAMES_A_MODEL.test(decodeName(name)) && (name !== "model" || file))
      throw refused(name, `\`${name}\` is not a field of this request: use \`model\``);
    if (file) continue;
    if (fieldsByName.has(name) && (name === "model" || name === "prompt"))
      throw refused(name, `\`${name}\` occurs twice`);
    fieldsByName.set(name, field);
  }
  return fieldsByName;
}

function decodeName(name: string): string {
  const text = name.replace(/%([0-7][\da-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return text.normalize("NFKC");
}

/** Returns the field with a new value; undefined if nothing changes. */
function replaceValue(field: Field | undefined, value: string | undefined) {
  return field === undefined || value === undefined || value === field.value
    ? undefined
    : { ...field, value };
}
