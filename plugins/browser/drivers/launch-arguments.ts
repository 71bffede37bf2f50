/** Which switches a profile may add to those that its browser is started with. */

/** What the name of a switch may not hold: ports, ways past the proxy, files, programs, and protection that it takes away. */
const REFUSED = [
  "remote|debug|inspect|port|socket|pipe|address",
  "proxy|resolver|rules|dns|rtc|peer|quic",
  "user-data|profile-|path|dir|file|log|dump|screenshot|print-to|import",
  "prefix|launcher|subprocess|extension|plugin|install",
  "sandbox|zygote|process|security|insecure|isolat|headless|trial|variations",
  // Those of Blink may be switched off: sites ask for that.
  "(?<!^--disable-blink-)features",
].join("|");
const REFUSED_NAMES = "app|app-id|type|load-and-launch-app";

/** A pattern for one of them: `--name` or `--name=value`. */
export const LAUNCH_ARGUMENT = `^--(?!(?:${REFUSED_NAMES})(?:=|$))(?![a-z0-9-]*(?:${REFUSED}))[a-z0-9][a-z0-9-]*(?:=[^\\0]*)?$`;
