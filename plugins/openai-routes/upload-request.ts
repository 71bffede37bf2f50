/** Requests that bring a file: their body is kept on disk, so that none is too large for the memory or a second try. */
import { type Call, PorticoError } from "portico";
import { type ApiRoute, type ChatService, refused } from "portico/chat";
import { forwardJson, modelOf } from "./json-request.ts";
import { boundaryOf, createMultipartReader, type Field } from "./multipart.ts";
import { receive } from "./spool.ts";

/** Writes the response by itself. */
export async function forwardUpload(chat: ChatService, call: Call, route: ApiRoute, maxBytes: number): Promise<void> {
  const contentType = call.req.headers["content-type"] ?? "";
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) {
    if (route === "images/edits" && /^application\/json/i.test(contentType)) return forwardJson(chat, call, route);
    throw new PorticoError("unsupported_media_type", "Send the body as `multipart/form-data` with its boundary.");
  }
  const reader = createMultipartReader(boundary);
  const spool = await receive(call, maxBytes, (bytes) => reader.push(bytes));
  try {
    const fields = byName(reader.end());
    const model = modelOf(route, Object.fromEntries([...fields].map(([name, field]) => [name, field.value])));
    const stream = fields.get("stream")?.value === "true";
    await chat.forward(call, {
      route,
      model,
      stream,
      text: fields.get("prompt")?.value,
      contentType,
      body: (own, text) =>
        spool.source(
          [replacing(fields.get("model"), own), replacing(fields.get("prompt"), text)].flatMap((one) => one ?? []),
        ),
    });
  } finally {
    await spool.close();
  }
}

/** Files are not among them. Which of two would count is not ours to guess. */
function byName(fields: readonly Field[]): Map<string, Field> {
  const known = new Map<string, Field>();
  for (const field of fields) {
    // What was checked is what is sent: a server may read names in any case.
    if (field.name !== "model" && /^models?$/iu.test(field.name))
      throw refused(field.name, `\`${field.name}\` is not a field of this request: write \`model\``);
    if (known.has(field.name) && (field.name === "model" || field.name === "prompt"))
      throw refused(field.name, `\`${field.name}\` comes twice`);
    known.set(field.name, field);
  }
  return known;
}

function replacing(field: Field | undefined, value: string | undefined) {
  return field === undefined || value === undefined || value === field.value ? undefined : { ...field, value };
}
