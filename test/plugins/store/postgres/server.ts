/** Imported before a file of the store's tests: runs them, with the same seeds, over a real PostgreSQL. */
import { startPostgres } from "../../../support/machine/postgres.ts";
import { storesElsewhere } from "../temporary-store.ts";

// what these tests are about is not whether the server's disk keeps its word
const server = await startPostgres({ settings: ["fsync=off"] });
storesElsewhere(() => server.emptyUrl(), server.refuseDeadlocks);
