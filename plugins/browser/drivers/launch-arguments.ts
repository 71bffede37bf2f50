/** Decides which switches a profile may add to those that its browser is started with. */

/**
 * Parts that the name of a switch may not contain: ports, ways around the proxy, files, programs, and disabled
 * protection.
 */
const FORBIDDEN_PARTS = [
  "remote|debug|inspect|port|socket|pipe|address",
  "proxy|resolver|rules|dns|rtc|peer|quic",
  "user-data|profile-|path|dir|file|log|dump|screenshot|print-to|import",
  "prefix|launcher|subprocess|extension|plugin|install",
  "sandbox|zygote|process|security|insecure|isolat|headless|trial|variations",
  // Features of Blink may be disabled, because some sites require that.
  "(?<!^--disable-blink-)features",
].join("|");
const FORBIDDEN_NAMES = "app|app-id|type|load-and-launch-app";

/** A pattern for one allowed switch: `--name` or `--name=value`. */
export const LAUNCH_ARGUMENT = `^--(?!(?:${FORBIDDEN_NAMES})(?:=|$))(?![a-z0-9-]*(?:${FORBIDDEN_PARTS}))[a-z0-9][a-z0-9-]*(?:=[^\\0]*)?$`;
