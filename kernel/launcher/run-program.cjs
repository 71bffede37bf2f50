// Runs the program, with Node's compile cache where Node has one (22.1 and later).
const { enableCompileCache } = require("node:module");
const { join } = require("node:path");

// The cache is in the installation, because other users could write to a shared temporary directory.
enableCompileCache?.(join(__dirname, "compile-cache"));

import("./program.js");
