import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { Channel } from "../../../../plugins/models/routing/channel.ts";
import {
  byPriority,
  type Listing,
  resolve,
  resolveList,
  type Routing,
  shuffleByWeight,
} from "../../../../plugins/models/routing/router.ts";
import type { AliasConfig, ChannelConfig } from "../../../../plugins/models/schema.ts";

function routing(
  channels: Record<string, Partial<ChannelConfig>>,
  aliases: Record<string, AliasConfig> = {},
  listings: Record<string, Listing> = {},
  random = () => 0,
): Routing {
  const map = new Map(
    Object.entries(channels).map(([name, config]) => [
      name,
      new Channel(name, { provider: "openai", ...config }),
    ]),
  );
  map.set("echo", new Channel("echo", { provider: "echo" }, { builtin: true }));
  return {
    channels: () => map,
    aliases: () => new Map(Object.entries(aliases)),
    listing: (channel) => listings[channel.name] ?? "unknown",
    priceOf: async () => undefined,
    random,
  };
}
const names = async (routes: Routing, model: string, only?: string) =>
  (await resolve(routes, model, only)).map(({ channel, model: name }) => `${channel.name}:${name}`);
const fails = async (routes: Routing, model: string, only?: string) => {
  try {
    await resolve(routes, model, only);
  } catch (error) {
    return (error as { code: string }).code;
  }
  return "nothing";
};

test("an alias comes before a channel, a channel before a list", async () => {
  const routes = routing(
    { a: { models: ["a/x", "m"] }, b: { models: ["a/x"] } },
    { "a/x": "b/y", m: "b/m2" },
  );
  assert.equal(await names(routes, "a/x"), ["b:y"]);
  assert.equal(await names(routes, "m"), ["b:m2"]);
  assert.equal(await names(routes, "a/m"), ["a:m"]);
});

test("unknown models of a list are skipped, and the error is the 404 of the first if all are unknown", async () => {
  const routes = routing({ a: { models: ["m", "n"] } }, { gone: "nobody/x" });
  const listed = async (list: [string, ...string[]], only?: string) =>
    (await resolveList(routes, list, only)).map(({ channel, model }) => `${channel.name}:${model}`);
  assert.equal(await listed(["unknown", "gone", "m", "a/n", "a/m"]), ["a:m", "a:n"]);
  assert.equal(await listed(["m", "unknown"]), ["a:m"]);
  assert.equal(await listed(["unknown", "m"], "a"), ["a:unknown", "a:m"]);
  const all = await listed(["unknown", "gone"]).catch((error: Error) => error.message);
  assert.match(all as string, "`unknown` does not exist");
});

test("a name with slashes is resolved by its first part, or by the model list of a channel", async () => {
  const routes = routing({ a: {}, b: { models: ["meta/llama"] } }, {}, { a: [] });
  assert.equal(await names(routes, "a/meta/llama"), ["a:meta/llama"]);
  assert.equal(await names(routes, "meta/llama"), ["b:meta/llama"]);
});

test("the name of a channel may contain slashes, and the shorter of two matching names is used", async () => {
  const channels = {
    "team/eu": { models: ["m"] },
    "team/off": { enabled: false },
    a: {},
    "a/b": {},
  };
  const routes = routing(channels, {}, { a: [], "a/b": [] });
  assert.equal(await names(routes, "team/eu/m"), ["team/eu:m"]);
  assert.equal(await names(routes, "team/eu/meta/llama"), ["team/eu:meta/llama"]);
  assert.equal(await names(routes, "a/b/m"), ["a:b/m"]);
  for (const name of ["team/eu", "team/eu/", "team/off/m", "team/m", "/m"])
    assert.is(await fails(routes, name), "model_not_found", name);
});

test("several channels: priority first, weights within one", async () => {
  const routes = routing({
    low: { models: ["m"], priority: -1 },
    one: { models: ["m"] },
    high: { models: ["*"], priority: 5 },
  });
  assert.equal(await names(routes, "m"), ["high:m", "one:m", "low:m"]);
});

test("an upstream whose list is unavailable comes last, and one that does not list the model is excluded", async () => {
  const routes = routing(
    { blind: { priority: 9 }, lists: {}, other: {}, named: { models: ["m"] } },
    {},
    { lists: ["m"], other: ["n"] },
  );
  assert.equal((await names(routes, "m")).sort(), ["blind:m", "lists:m", "named:m"]);
  assert.is((await names(routes, "m")).at(-1), "blind:m");
  assert.is(await fails(routing({ other: {} }, {}, { other: ["n"] }), "m"), "model_not_found");
});

test("aliases: several targets, aliases of aliases, circles, unknown targets", async () => {
  const routes = routing(
    { a: {}, b: { weight: 3 } },
    {
      two: { targets: ["a/x", "b/y", "a/x"] },
      deep: "two",
      round: "around",
      around: "round",
      lost: "nowhere/z",
      heavy: { targets: ["a/x", "b/y"], strategy: "weighted" },
    },
    { a: [], b: [] },
  );
  assert.equal(await names(routes, "two"), ["a:x", "b:y"]);
  assert.equal(await names(routes, "deep"), ["a:x", "b:y"]);
  assert.is(await fails(routes, "round"), "model_not_found");
  assert.is(await fails(routes, "lost"), "model_not_found");
  assert.is((await names({ ...routes, random: () => 0.9 }, "heavy"))[0], "b:y");
  assert.is((await names({ ...routes, random: () => 0.1 }, "heavy"))[0], "a:x");
});

test("built-in channels can be addressed by their bare name, and names of object prototypes match nothing", async () => {
  const routes = routing({ a: { enabled: false, models: ["m"] } });
  assert.equal(await names(routes, "echo"), ["echo:echo"]);
  assert.equal(await names(routes, "echo/x"), ["echo:x"]);
  for (const model of ["a/m", "m", "constructor", "__proto__", "a/", "/m"])
    assert.is(await fails(routes, model), "model_not_found", model);
});

test("only one channel is used on request of the caller", async () => {
  const routes = routing({ a: { models: ["m"] }, b: { models: ["m"] } });
  assert.equal(await names(routes, "m", "b"), ["b:m"]);
  assert.equal(await names(routes, "other", "b"), ["b:other"]);
  assert.is(await fails(routes, "m", "zz"), "invalid_request_error");
});

test("weights determine how often each channel is first, and weight 0 is last", () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  const first = new Map<string, number>();
  for (let i = 0; i < 4000; i++) {
    const order = shuffleByWeight(["a1", "b3", "c0"], (item) => Number(item[1]), random);
    assert.is(order.length, 3);
    assert.is(order[2], "c0");
    first.set(order[0]!, (first.get(order[0]!) ?? 0) + 1);
  }
  assert.ok(Math.abs((first.get("b3") ?? 0) / 4000 - 0.75) < 0.03);
  assert.equal(byPriority([], random), []);
});

test.run();
