/**
 * `npm run pictures`: takes the pictures of the documentation from a real run, and writes them below `plugins/docs/pictures`:
 * pages of the console in a Chromium, and a recording of commands in a shell.
 */
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageDir } from "../support/gateway.ts";
import { takeConsolePictures } from "./console.ts";
import { recordSession } from "./session.ts";
import { terminalPicture } from "./terminal-picture.ts";

const directory = join(packageDir, "plugins/docs/pictures");
mkdirSync(directory, { recursive: true });

const files = await takeConsolePictures(directory);
const recording = join(directory, "terminal.svg");
writeFileSync(recording, terminalPicture(await recordSession()));
for (const file of [...files, recording])
  console.log(`${file.slice(packageDir.length + 1)}  ${Math.ceil(statSync(file).size / 1024)} kB`);
