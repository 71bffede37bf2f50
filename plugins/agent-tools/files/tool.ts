import { type PluginContext, Type } from "portico";
import { errors } from "../errors.ts";
import { edit, list, read, search, write } from "./operations.ts";
import type { GuardedPlaces } from "./rules.ts";

const actions = ["read", "write", "edit", "list", "search"] as const;
const optional = Type.Optional;

const parameters = Type.Object({
  action: Type.Union(actions.map((action) => Type.Literal(action))),
  path: optional(
    Type.String({
      maxLength: 4096,
      description: "A path in the workspace; default for list and search: the whole workspace",
    }),
  ),
  content: optional(Type.String({ description: "For write: the whole content of the file" })),
  old: optional(
    Type.String({
      minLength: 1,
      description: "For edit: the text to replace, exactly as the file contains it",
    }),
  ),
  new: optional(Type.String({ description: "For edit: the new text" })),
  all: optional(Type.Boolean({ description: "For edit: replace every occurrence" })),
  offset: optional(
    Type.Integer({ minimum: 1, description: "For read: the first line, counted from 1" }),
  ),
  limit: optional(Type.Integer({ minimum: 1, description: "For read: the number of lines" })),
  depth: optional(
    Type.Integer({
      minimum: 1,
      maximum: 10,
      description: "For list: the number of levels (default: 1)",
    }),
  ),
  text: optional(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      description: "For search: the literal text to find",
    }),
  ),
  glob: optional(
    Type.String({
      maxLength: 200,
      description: "For search: only files that match a pattern such as notes/*.md",
    }),
  ),
});

/** Adds the tool `files`, with which the agent reads and writes its workspace. */
export function addFiles(ctx: PluginContext, places: GuardedPlaces): void {
  ctx.tool({
    name: "files",
    description:
      "The files of your workspace: reads, writes, edits, lists and searches them. Paths are relative to the workspace.",
    parameters,
    principals: ["key", "webhook", "poll"],
    ownErrors: true,
    async handler(args, call) {
      const place = await places.of(call);
      const { action, path = "." } = args;
      if (action === "list") return list(place, path, args.depth ?? 1, call.signal);
      if (action === "search")
        return search(
          place,
          { text: requireParam(args.text, "text", action), path, glob: args.glob },
          call.signal,
        );
      const file = requireParam(args.path, "path", action);
      if (action === "read") return read(place, file, args);
      if (action === "write")
        return write(place, file, requireParam(args.content, "content", action));
      const change = {
        old: requireParam(args.old, "old", action),
        new: requireParam(args.new, "new", action),
        all: args.all,
      };
      return edit(place, file, change);
    },
  });
}

export function requireParam(value: string | undefined, param: string, action: string): string {
  if (value !== undefined) return value;
  throw errors.parameterMissing({ action, param }, { param });
}
