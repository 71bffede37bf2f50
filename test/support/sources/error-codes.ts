/** Declares the error codes of built-in plugins, for tests of modules whose plugin is not loaded. */
import { declareErrors } from "../../../kernel/errors.ts";
import { errors as browser } from "../../../plugins/browser/errors.ts";
import { errors as chat } from "../../../plugins/models/errors.ts";
import { errors as nodes } from "../../../plugins/nodes/errors.ts";
import { errors as store } from "../../../plugins/store/errors.ts";
import { errors as webhooks } from "../../../plugins/webhooks/errors.ts";

for (const table of [browser, chat, nodes, store, webhooks]) declareErrors(table);
