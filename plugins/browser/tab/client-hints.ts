/** Derives the client hints that fit a user agent: `Sec-CH-UA-*`, `navigator.userAgentData`, `navigator.platform`. */

interface ClientHints {
  mobile: boolean;
  platform: string;
  platformVersion: string;
  architecture: string;
  model: string;
  /** Empty for browsers that do not send such headers. */
  brands: { brand: string; version: string }[];
  fullVersionList: { brand: string; version: string }[];
}

/** A platform of the table below. */
interface Platform {
  /** The name in client hints. */
  name: string;
  /** `navigator.platform` */
  navigator: string;
  architecture: string;
  version: RegExp;
}

const ARM = "arm";
const X86 = "x86";
const PLATFORMS: readonly (readonly [RegExp, Platform])[] = [
  [
    /Android/,
    { name: "Android", navigator: "Linux armv81", architecture: ARM, version: /Android ([\d.]+)/ },
  ],
  [
    /iPhone/,
    { name: "iOS", navigator: "iPhone", architecture: ARM, version: /iPhone OS ([\d_]+)/ },
  ],
  [/iPad/, { name: "iOS", navigator: "iPad", architecture: ARM, version: /CPU OS ([\d_]+)/ }],
  [
    /Windows/,
    { name: "Windows", navigator: "Win32", architecture: X86, version: /Windows\D{1,20}([\d.]+)/ },
  ],
  [
    /Mac OS X/,
    { name: "macOS", navigator: "MacIntel", architecture: X86, version: /Mac OS X ([\d_]+)/ },
  ],
];
const LINUX: Platform = {
  name: "Linux",
  navigator: "Linux x86_64",
  architecture: X86,
  version: /$^/,
};

const platformOf = (userAgent: string): Platform =>
  PLATFORMS.find(([pattern]) => pattern.test(userAgent))?.[1] ?? LINUX;

/** Brands that share Chromium's version number, by their mark in the user agent. */
const BRANDS: readonly (readonly [RegExp, string])[] = [
  [/HeadlessChrome\//, "HeadlessChrome"],
  [/Edg\//, "Microsoft Edge"],
  [/Chrome\//, "Google Chrome"],
];

function brandsOf(userAgent: string, isFull: boolean): ClientHints["brands"] {
  const fullVersion = /Chrome\/([\d.]+)/.exec(userAgent)?.[1];
  const brand = BRANDS.find(([pattern]) => pattern.test(userAgent))?.[1];
  if (fullVersion === undefined || brand === undefined) return [];
  const version = isFull ? fullVersion : fullVersion.split(".")[0]!;
  return [
    { brand: "Not=A?Brand", version: isFull ? "24.0.0.0" : "24" },
    { brand: "Chromium", version },
    { brand, version },
  ];
}

export const deriveNavigatorPlatform = (userAgent: string): string =>
  platformOf(userAgent).navigator;

/** Returns the model, the text after the version of Android: `Pixel 7`. */
const modelOf = (userAgent: string): string =>
  (/Android [\d.]+; ([^;)]{1,100})/.exec(userAgent)?.[1] ?? "").split(" Build/")[0]!;

export function deriveClientHints(userAgent: string, mobile: boolean): ClientHints {
  const { name, architecture, version } = platformOf(userAgent);
  return {
    mobile,
    platform: name,
    platformVersion: (version.exec(userAgent)?.[1] ?? "").replaceAll("_", "."),
    architecture: mobile ? "" : architecture,
    model: mobile ? modelOf(userAgent) : "",
    brands: brandsOf(userAgent, false),
    fullVersionList: brandsOf(userAgent, true),
  };
}
