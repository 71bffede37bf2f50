// Runs the program, with Node's compile cache where Node has one (22.1 and later).
const { enableCompileCache } = require("node:module");
const { join } = require("node:path");

// The cache lies in the installation: in a shared temporary directory, other users could write it.
enableCompileCache?.(join(__dirname, "compile-cache"));

import("./program.js");
