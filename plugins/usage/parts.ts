/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { emptyLedger, Ledger } from "./ledger.ts";
export { readQuery } from "./range.ts";
export { report } from "./report.ts";
export { requestPage } from "./requests/page.ts";
export { readRequestsQuery } from "./requests/query.ts";
export { usageRoutes } from "./routes-schema.ts";
