/** The named browsers: built-in profiles, configured profiles, and profiles created over HTTP. */
import { randomUUID } from "node:crypto";
import { lstat, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseUrl } from "portico/strings";
import { errors } from "./errors.ts";
import { portFree } from "./net/free-port.ts";
import { listDebuggingPorts } from "./drivers/debugging-ports.ts";
import {
  PROFILE_NAME_RULE,
  type BrowserConfig,
  PROFILE_NAME,
  type ProfileConfig,
} from "./schema.ts";

type DriverKind = "managed" | "remote" | "extension";

export interface Profile {
  readonly name: string;
  readonly driver: DriverKind;
  readonly color: string;
  /** The address of a remote or relay profile. It may contain credentials, so it is never shown; see `shownUrl`. */
  readonly cdpUrl?: string;
  /** The launch settings of a managed profile, as configured. */
  readonly proxy?: string;
  readonly userAgent?: string;
  readonly args?: readonly string[];
  /** The configured port; managed profiles without one get a port from `Profiles.port`. */
  readonly cdpPort?: number;
  readonly source: "built-in" | "config" | "created";
  /** The directory of the profile's data: user data, process record, downloads in progress. */
  readonly dir: string;
}

const BUILT_IN_PROFILE = "portico";
const RELAY_PROFILE = "relay";
const FIRST_PORT = 18_800;
const LAST_PORT = 18_899;
/** The default port of other browsers and tools, which would mistake a browser of ours on it for their own. */
const COMMON_DEBUGGING_PORT = 9222;

/** Returns a URL without user, password, query and fragment, so that it may be shown. Returns "" for an invalid URL. */
export function redactUrl(url: string): string {
  const parsed = parseUrl(url);
  if (!parsed) return "";
  const { protocol, host, pathname } = parsed;
  return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}

/** Copies a record to an object without a prototype, because a profile may be called `constructor`. */
const withoutPrototype = <T>(record: Record<string, T> | undefined): Record<string, T> =>
  Object.assign(Object.create(null) as Record<string, T>, record);

interface StoredProfiles {
  created: Record<string, ProfileConfig>;
  ports: Record<string, number>;
}

export interface ProfilesOptions {
  /** `<home>/state/browser` */
  dir: string;
  /** `<home>/trash` */
  trash: string;
  config: () => BrowserConfig;
  /** Returns the address of the extension relay. */
  relayUrl: () => string;
  /** Chooses a port without a listener. Default: the first port of the range that no other profile has. */
  choosePort?: (() => Promise<number>) | undefined;
}

export class Profiles {
  readonly #options: ProfilesOptions;
  #stored: StoredProfiles | undefined;
  #lastWrite: Promise<void> = Promise.resolve();
  #lastAssignment: Promise<unknown> = Promise.resolve();

  constructor(options: ProfilesOptions) {
    this.#options = options;
  }

  get #file(): string {
    return join(this.#options.dir, "profiles.json");
  }

  async #load(): Promise<StoredProfiles> {
    if (this.#stored !== undefined) return this.#stored;
    const text = await readFile(this.#file, "utf8").catch(() => "{}");
    let parsed: Partial<StoredProfiles> = {};
    try {
      parsed = JSON.parse(text) as Partial<StoredProfiles>;
    } catch {
      // The file is damaged: the profiles' directories still exist, only their settings are lost.
    }
    this.#stored ??= {
      created: withoutPrototype(parsed.created),
      ports: withoutPrototype(parsed.ports),
    };
    return this.#stored;
  }

  #save(): Promise<void> {
    const write = async (): Promise<void> => {
      await mkdir(this.#options.dir, { recursive: true, mode: 0o700 });
      const next = `${this.#file}.${randomUUID()}`;
      await writeFile(next, JSON.stringify(this.#stored, null, 2), { mode: 0o600 });
      await rename(next, this.#file);
    };
    this.#lastWrite = this.#lastWrite.then(write, write);
    return this.#lastWrite;
  }

  /** Returns the driver of a profile that does not specify one. */
  #driverFor(cdpUrl: string | undefined): DriverKind {
    if (cdpUrl === undefined) return "managed";
    return redactUrl(cdpUrl) === this.#options.relayUrl() ? "extension" : "remote";
  }

  #createProfile(name: string, config: ProfileConfig, source: Profile["source"]): Profile {
    const driver = config.driver ?? this.#driverFor(config.cdpUrl);
    const cdpUrl =
      driver === "extension" ? (config.cdpUrl ?? this.#options.relayUrl()) : config.cdpUrl;
    return {
      name,
      driver,
      source,
      color: config.color ?? this.#options.config().color,
      dir: join(this.#options.dir, name),
      cdpUrl: driver === "managed" ? undefined : cdpUrl,
      cdpPort: config.cdpPort,
      ...(driver === "managed" && {
        proxy: config.proxy,
        userAgent: config.userAgent,
        args: config.args,
      }),
    };
  }

  /** Returns all profiles by name. Configured profiles override those created over HTTP. */
  async all(): Promise<Map<string, Profile>> {
    return this.#byName(await this.#load());
  }

  #byName({ created }: StoredProfiles): Map<string, Profile> {
    const config = this.#options.config();
    const profiles = new Map<string, Profile>();
    const legacy: ProfileConfig = { cdpUrl: config.cdpUrl };
    profiles.set(BUILT_IN_PROFILE, this.#createProfile(BUILT_IN_PROFILE, legacy, "built-in"));
    profiles.set(
      RELAY_PROFILE,
      this.#createProfile(RELAY_PROFILE, { driver: "extension" }, "built-in"),
    );
    for (const [name, profileConfig] of Object.entries(created))
      profiles.set(name, this.#createProfile(name, profileConfig, "created"));
    for (const [name, profileConfig] of Object.entries(config.profiles))
      profiles.set(name, this.#createProfile(name, profileConfig, "config"));
    return profiles;
  }

  /** The debugging ports of profiles created over HTTP. `configuredPorts` returns those of the configuration. */
  get createdPorts(): number[] {
    return listDebuggingPorts(...Object.values(this.#stored?.created ?? {}));
  }

  get defaultName(): string {
    return this.#options.config().defaultProfile;
  }

  /** Returns the profile of that name, or the default one. Rejects with a 404 `profile_not_found`. */
  async get(name?: string): Promise<Profile> {
    const all = await this.all();
    const profileName = name ?? this.defaultName;
    const profile = all.get(profileName);
    if (profile !== undefined) return profile;
    checkName(profileName);
    const names = [...all.keys()].join(", ");
    throw errors.unknownProfile({ profile: JSON.stringify(profileName), known: names });
  }

  /** Returns the debugging port of a managed profile. Assigns and stores one if it has none yet. */
  async port(profile: Profile): Promise<number> {
    if (profile.cdpPort !== undefined) return profile.cdpPort;
    const stored = await this.#load();
    const storedPort = (): number | undefined => stored.ports[profile.name];
    return (
      storedPort() ??
      this.#runInTurn(async () => storedPort() ?? this.#assign(profile, async () => true))
    );
  }

  /** Returns the port to launch on: the profile's own port if it is free, else another one of the range. */
  async launchPort(profile: Profile): Promise<number> {
    const port = await this.port(profile);
    if (port === COMMON_DEBUGGING_PORT)
      throw errors.toolsPortOfProfile({ port, profile: profile.name });
    if (await portFree(port)) return port;
    if (profile.cdpPort === undefined)
      return this.#runInTurn(() => this.#assign(profile, portFree));
    throw errors.portInUse({ port, profile: profile.name });
  }

  /** Assigns ports one after the other, since two concurrent assignments could choose the same port. */
  #runInTurn(work: () => Promise<number>): Promise<number> {
    const turn = this.#lastAssignment.then(work);
    this.#lastAssignment = turn.catch(() => {});
    return turn;
  }

  async #assign(profile: Profile, isSuitable: (port: number) => Promise<boolean>): Promise<number> {
    const stored = await this.#load();
    const port = await (this.#options.choosePort?.() ??
      this.#firstPort(profile, stored, isSuitable));
    stored.ports[profile.name] = port;
    await this.#save();
    return port;
  }

  async #firstPort(
    profile: Profile,
    stored: StoredProfiles,
    isSuitable: (port: number) => Promise<boolean>,
  ): Promise<number> {
    const usedPorts = new Set(
      Object.entries(stored.ports)
        .filter(([name]) => name !== profile.name)
        .map(([, port]) => port),
    );
    for (const { cdpPort, name } of (await this.all()).values())
      if (cdpPort !== undefined && name !== profile.name) usedPorts.add(cdpPort);
    for (let port = FIRST_PORT; port <= LAST_PORT; port++) {
      if (!usedPorts.has(port) && (await isSuitable(port))) return port;
    }
    throw errors.noProfilePort({ first: FIRST_PORT, last: LAST_PORT });
  }

  /** Creates a profile. Rejects with a 400 for an invalid name or URL, with a 409 `conflict` if it exists. */
  async create(name: string, config: ProfileConfig): Promise<Profile> {
    checkName(name);
    const stored = await this.#load();
    // The names are also those of directories, and some file systems do not distinguish `a` from `A`. Between this
    // check and the insertion below, nothing is awaited, because another request may create the same name.
    const existingName = [...this.#byName(stored).keys()].find(
      (otherName) => otherName.toLowerCase() === name.toLowerCase(),
    );
    if (existingName !== undefined)
      throw errors.profileExists({ profile: JSON.stringify(existingName) });
    if (config.driver === "remote" && config.cdpUrl === undefined) {
      throw errors.remoteWithoutUrl({ param: "cdpUrl" });
    }
    if (config.cdpUrl !== undefined && !parseUrl(config.cdpUrl)) {
      throw errors.badCdpUrl({ param: "cdpUrl" });
    }
    const {
      cdpUrl,
      driver = cdpUrl === undefined ? "managed" : "remote",
      proxy,
      userAgent,
      args,
    } = config;
    if (driver === "managed" && cdpUrl !== undefined)
      throw errors.managedWithUrl({ param: "cdpUrl" });
    const managedSetting = Object.entries({ proxy, userAgent, args }).find(
      ([, value]) => value !== undefined,
    );
    if (driver !== "managed" && managedSetting !== undefined)
      throw errors.managedOnly({ field: managedSetting[0] }, { param: managedSetting[0] });
    // In `attachOnly` mode, the owner of the browser chooses the port.
    if (
      driver === "managed" &&
      config.cdpPort === COMMON_DEBUGGING_PORT &&
      !this.#options.config().attachOnly
    )
      throw errors.toolsPort({ port: COMMON_DEBUGGING_PORT }, { param: "cdpPort" });
    stored.created[name] = config;
    await this.#save().catch((error: unknown) => {
      delete stored.created[name];
      throw error;
    });
    const profile = this.#createProfile(name, config, "created");
    await mkdir(profile.dir, { recursive: true, mode: 0o700 });
    return profile;
  }

  /**
   * Removes a profile but not its data, which the caller moves away. Rejects with a 409 for a built-in or configured
   * profile.
   */
  async remove(profile: Profile): Promise<void> {
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

  /** Moves a profile's data into `<home>/trash/browser`. Returns its new path, or null if there was no data. */
  async moveToTrash(profile: Profile): Promise<string | null> {
    if ((await lstat(profile.dir).catch(() => undefined)) === undefined) return null;
    const stamp = new Date().toISOString().replace(/[:.]/g, "-");
    const target = join(this.#options.trash, "browser", `${profile.name}-${stamp}`);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const isMoved = await rename(profile.dir, target).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        // Another request has moved the data meanwhile.
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
    { name: JSON.stringify(name.slice(0, 80)), rule: PROFILE_NAME_RULE },
    { param: "name" },
  );
}
