/** The named browsers: those built in, those of the configuration, and those made over HTTP. */
import { randomUUID } from "node:crypto";
import { lstat, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseUrl } from "portico/strings";
import { errors } from "./errors.ts";
import { portFree } from "./net/free-port.ts";
import { debuggingPorts } from "./drivers/debugging-ports.ts";
import { A_NAME, type BrowserConfig, PROFILE_NAME, type ProfileConfig } from "./schema.ts";

type DriverKind = "managed" | "remote" | "extension";

export interface Profile {
  readonly name: string;
  readonly driver: DriverKind;
  readonly color: string;
  /** Of remote and relay profiles; may hold credentials: never shown, see `shownUrl`. */
  readonly cdpUrl?: string;
  /** Of managed profiles, as the configuration has them. */
  readonly proxy?: string;
  readonly userAgent?: string;
  readonly args?: readonly string[];
  /** Set by the configuration; managed profiles without one get theirs from `Profiles.port`. */
  readonly cdpPort?: number;
  readonly source: "built-in" | "config" | "created";
  /** Everything that is stored for it: user data, process record, downloads in progress. */
  readonly dir: string;
}

const BUILT_IN = "portico";
const RELAY = "relay";
const FIRST_PORT = 18_800;
const LAST_PORT = 18_899;
/** Browsers and tools use it by default: a browser of ours there would be taken for somebody else's. */
const OTHERS_PORT = 9222;

/** A URL without user, password, query and fragment: what may be shown. */
export function shownUrl(url: string): string {
  const parsed = parseUrl(url);
  if (!parsed) return "";
  const { protocol, host, pathname } = parsed;
  return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}

/** Without what every object has: a profile may be called `constructor`. */
const bare = <T>(given: Record<string, T> | undefined): Record<string, T> =>
  Object.assign(Object.create(null) as Record<string, T>, given);

interface Stored {
  created: Record<string, ProfileConfig>;
  ports: Record<string, number>;
}

export interface ProfilesOptions {
  /** `<home>/state/browser` */
  dir: string;
  /** `<home>/trash` */
  trash: string;
  config: () => BrowserConfig;
  /** Where the extension relay listens. */
  relayUrl: () => string;
  /** Chooses a port without a listener. Default: the first of the range that no other profile has. */
  choosePort?: (() => Promise<number>) | undefined;
}

export class Profiles {
  readonly #options: ProfilesOptions;
  #stored: Stored | undefined;
  #writing: Promise<void> = Promise.resolve();
  #assigning: Promise<unknown> = Promise.resolve();

  constructor(options: ProfilesOptions) {
    this.#options = options;
  }

  get #file(): string {
    return join(this.#options.dir, "profiles.json");
  }

  async #load(): Promise<Stored> {
    if (this.#stored !== undefined) return this.#stored;
    const text = await readFile(this.#file, "utf8").catch(() => "{}");
    let parsed: Partial<Stored> = {};
    try {
      parsed = JSON.parse(text) as Partial<Stored>;
    } catch {
      // A torn file: the profiles' own directories are still there, only their settings are lost.
    }
    this.#stored ??= { created: bare(parsed.created), ports: bare(parsed.ports) };
    return this.#stored;
  }

  #save(): Promise<void> {
    const write = async (): Promise<void> => {
      await mkdir(this.#options.dir, { recursive: true, mode: 0o700 });
      const next = `${this.#file}.${randomUUID()}`;
      await writeFile(next, JSON.stringify(this.#stored, null, 2), { mode: 0o600 });
      await rename(next, this.#file);
    };
    this.#writing = this.#writing.then(write, write);
    return this.#writing;
  }

  /** The driver of a profile that names none. */
  #driverFor(cdpUrl: string | undefined): DriverKind {
    if (cdpUrl === undefined) return "managed";
    return shownUrl(cdpUrl) === this.#options.relayUrl() ? "extension" : "remote";
  }

  #make(name: string, given: ProfileConfig, source: Profile["source"]): Profile {
    const driver = given.driver ?? this.#driverFor(given.cdpUrl);
    const cdpUrl =
      driver === "extension" ? (given.cdpUrl ?? this.#options.relayUrl()) : given.cdpUrl;
    return {
      name,
      driver,
      source,
      color: given.color ?? this.#options.config().color,
      dir: join(this.#options.dir, name),
      cdpUrl: driver === "managed" ? undefined : cdpUrl,
      cdpPort: given.cdpPort,
      ...(driver === "managed" && {
        proxy: given.proxy,
        userAgent: given.userAgent,
        args: given.args,
      }),
    };
  }

  /** All profiles by name; those of the configuration override those that were created over HTTP. */
  async all(): Promise<Map<string, Profile>> {
    return this.#named(await this.#load());
  }

  #named({ created }: Stored): Map<string, Profile> {
    const config = this.#options.config();
    const profiles = new Map<string, Profile>();
    const legacy: ProfileConfig = { cdpUrl: config.cdpUrl };
    profiles.set(BUILT_IN, this.#make(BUILT_IN, legacy, "built-in"));
    profiles.set(RELAY, this.#make(RELAY, { driver: "extension" }, "built-in"));
    for (const [name, given] of Object.entries(created))
      profiles.set(name, this.#make(name, given, "created"));
    for (const [name, given] of Object.entries(config.profiles))
      profiles.set(name, this.#make(name, given, "config"));
    return profiles;
  }

  /** Debugging ports of profiles that were made over HTTP; those of the configuration are its reader's to know. */
  get createdPorts(): number[] {
    return debuggingPorts(...Object.values(this.#stored?.created ?? {}));
  }

  get defaultName(): string {
    return this.#options.config().defaultProfile;
  }

  /** The profile of that name, or the default one. 404 `profile_not_found`. */
  async get(name?: string): Promise<Profile> {
    const all = await this.all();
    const wanted = name ?? this.defaultName;
    const profile = all.get(wanted);
    if (profile !== undefined) return profile;
    checkName(wanted);
    const names = [...all.keys()].join(", ");
    throw errors.unknownProfile({ profile: JSON.stringify(wanted), known: names });
  }

  /** The debugging port of a managed profile, assigned and kept when it has none yet. */
  async port(profile: Profile): Promise<number> {
    if (profile.cdpPort !== undefined) return profile.cdpPort;
    const stored = await this.#load();
    const known = (): number | undefined => stored.ports[profile.name];
    return known() ?? this.#inTurn(async () => known() ?? this.#assign(profile, async () => true));
  }

  /** The port to launch on: the profile's own while it is free, else another one of the range. */
  async launchPort(profile: Profile): Promise<number> {
    const port = await this.port(profile);
    if (port === OTHERS_PORT) throw errors.toolsPortOfProfile({ port, profile: profile.name });
    if (await portFree(port)) return port;
    if (profile.cdpPort === undefined) return this.#inTurn(() => this.#assign(profile, portFree));
    throw errors.portInUse({ port, profile: profile.name });
  }

  /** Ports are given out one after another: two that are chosen at once would be the same. */
  #inTurn(work: () => Promise<number>): Promise<number> {
    const turn = this.#assigning.then(work);
    this.#assigning = turn.catch(() => {});
    return turn;
  }

  async #assign(profile: Profile, fits: (port: number) => Promise<boolean>): Promise<number> {
    const stored = await this.#load();
    const port = await (this.#options.choosePort?.() ?? this.#firstPort(profile, stored, fits));
    stored.ports[profile.name] = port;
    await this.#save();
    return port;
  }

  async #firstPort(
    profile: Profile,
    stored: Stored,
    fits: (port: number) => Promise<boolean>,
  ): Promise<number> {
    const usedPorts = new Set(
      Object.entries(stored.ports)
        .filter(([name]) => name !== profile.name)
        .map(([, port]) => port),
    );
    for (const { cdpPort, name } of (await this.all()).values())
      if (cdpPort !== undefined && name !== profile.name) usedPorts.add(cdpPort);
    for (let port = FIRST_PORT; port <= LAST_PORT; port++) {
      if (!usedPorts.has(port) && (await fits(port))) return port;
    }
    throw errors.noProfilePort({ first: FIRST_PORT, last: LAST_PORT });
  }

  /** Makes a profile. 400 for a bad name or URL, 409 `conflict` where it exists. */
  async create(name: string, given: ProfileConfig): Promise<Profile> {
    checkName(name);
    const stored = await this.#load();
    // Their directories are called so too, and not every file system tells `a` from `A`. From here until it is among
    // them nothing is waited for: another one of the name may be on its way.
    const existingName = [...this.#named(stored).keys()].find(
      (one) => one.toLowerCase() === name.toLowerCase(),
    );
    if (existingName !== undefined)
      throw errors.profileExists({ profile: JSON.stringify(existingName) });
    if (given.driver === "remote" && given.cdpUrl === undefined) {
      throw errors.remoteWithoutUrl({ param: "cdpUrl" });
    }
    if (given.cdpUrl !== undefined && !parseUrl(given.cdpUrl)) {
      throw errors.badCdpUrl({ param: "cdpUrl" });
    }
    const {
      cdpUrl,
      driver = cdpUrl === undefined ? "managed" : "remote",
      proxy,
      userAgent,
      args,
    } = given;
    if (driver === "managed" && cdpUrl !== undefined)
      throw errors.managedWithUrl({ param: "cdpUrl" });
    const own = Object.entries({ proxy, userAgent, args }).find(([, value]) => value !== undefined);
    if (driver !== "managed" && own !== undefined)
      throw errors.managedOnly({ field: own[0] }, { param: own[0] });
    // Of a browser that is only attached to, the port is its owner's choice.
    if (driver === "managed" && given.cdpPort === OTHERS_PORT && !this.#options.config().attachOnly)
      throw errors.toolsPort({ port: OTHERS_PORT }, { param: "cdpPort" });
    stored.created[name] = given;
    await this.#save().catch((error: unknown) => {
      delete stored.created[name];
      throw error;
    });
    const profile = this.#make(name, given, "created");
    await mkdir(profile.dir, { recursive: true, mode: 0o700 });
    return profile;
  }

  /** Forgets a profile; its data are the caller's to move away. 409 for one of the configuration. */
  async forget(profile: Profile): Promise<void> {
    if (profile.source !== "created") {
      const values = { profile: profile.name };
      throw profile.source === "config"
        ? errors.profileConfigured(values)
        : errors.profileBuiltIn(values);
    }
    const stored = await this.#load();
    delete stored.created[profile.name];
    delete stored.ports[profile.name];
    await this.#save();
  }

  /** Moves a profile's data into `<home>/trash/browser`; its new place, or null where there was nothing. */
  async trash(profile: Profile): Promise<string | null> {
    if ((await lstat(profile.dir).catch(() => undefined)) === undefined) return null;
    const stamp = new Date().toISOString().replace(/[:.]/g, "-");
    const target = join(this.#options.trash, "browser", `${profile.name}-${stamp}`);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const isMoved = await rename(profile.dir, target).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        // Another request has moved it meanwhile.
        if (error.code === "ENOENT") return false;
        throw error;
      },
    );
    return isMoved ? target : null;
  }
}

function checkName(name: string): void {
  if (PROFILE_NAME.test(name)) return;
  throw errors.badProfileName(
    { name: JSON.stringify(name.slice(0, 80)), rule: A_NAME },
    { param: "name" },
  );
}
