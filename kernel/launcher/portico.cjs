#!/usr/bin/env node
// The command `portico`. Old versions of Node must be able to read this file, so that they can print what is missing.
var versionParts = process.versions.node.split(".");
var major = Number(versionParts[0]);
var minor = Number(versionParts[1]);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error("Portico needs Node.js 20.19 or later; this is " + process.version + ".");
  process.exit(1);
}

require("./run-program.cjs");
