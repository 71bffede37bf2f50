/** The documentation: static pages that the build generates from `guides/`, the READMEs and the declarations. */
import { join } from "node:path";
import { definePlugin } from "portico";
import { fileResponse } from "portico/openapi";
import { openStaticFiles, type StaticFiles } from "portico/static-files";
import { errors } from "./errors.ts";

export default definePlugin({
  name: "docs",
  description: "Serves the documentation, with search, at /docs",
  errors,
  setup(ctx) {
    ctx.add("banner", { name: "docs", rows: ({ url }) => [["Documentation", `${url}/docs`]] });
    let files: StaticFiles | undefined;
    const openFiles = (): StaticFiles => {
      try {
        return openStaticFiles(join(ctx.paths.package, ".build", "docs"));
      } catch (cause) {
        throw errors.notBuilt({ cause });
      }
    };
    // The pages are public, because they hold no data of the gateway.
    const access = { access: "public" } as const;
    ctx.route(
      "GET",
      "/docs",
      { ...access, summary: "Open the documentation", response: fileResponse("text/html") },
      ({ req }) => {
        files ??= openFiles();
        return files.answer("index.html", req.headers);
      },
    );
    ctx.route(
      "GET",
      "/docs/*",
      { ...access, summary: "Get a page of the documentation", response: fileResponse() },
      ({ path, req }) => {
        files ??= openFiles();
        const name = path.slice("/docs/".length).replace(/\/$/, "") || "index";
        return files.answer(/\.\w+$/.test(name) ? name : `${name}.html`, req.headers);
      },
    );
  },
});
