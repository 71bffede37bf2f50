// Loaded into the gateway before its program. At SIGUSR2 it collects garbage and writes what the memory holds.
const { renameSync, writeFileSync } = require("node:fs");

process.on("SIGUSR2", () => {
  globalThis.gc();
  globalThis.gc();
  const file = process.env.SOAK_REPORT;
  writeFileSync(`${file}.part`, JSON.stringify(process.memoryUsage()));
  renameSync(`${file}.part`, file);
});
