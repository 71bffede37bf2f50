/**
 * Parsers of text from outside, each with typical samples. They may refuse a text with an error, but must never crash or
 * hang.
 */
import { parseDataUrl, createSseParser } from "portico/provider";
import { parseDuration } from "portico/schedules";
import { didYouMean, parseNetworks } from "portico";
import { parseKeyPath } from "../../kernel/text/key-path.ts";
import { createGuard } from "portico/egress";
import { parse as parseJson5 } from "../../kernel/config/json5/parse.ts";
import { parseHookMd } from "../../kernel/host/extensions/hooks/front-matter.ts";
import { parseFeed } from "../../plugins/polls/sources/feeds/feed.ts";
import { parseJsonItems } from "../../plugins/polls/sources/json.ts";
import { readPath } from "../../plugins/webhooks/mappings/paths.ts";
import { readTemplate } from "../../plugins/webhooks/mappings/template.ts";

export interface Parser {
  name: string;
  samples: readonly string[];
  parse(text: string): unknown;
}

const guard = createGuard({
  policy: () => ({ allowPrivate: false }),
  ownPorts: () => [1],
  code: "address_blocked",
});

export const parsers: readonly Parser[] = [
  {
    name: "server-sent events",
    samples: ['event: a\ndata: {"x":1}\n\n: comment\r\ndata: y\r\n\r\n'],
    parse(text) {
      const parser = createSseParser(() => {});
      const bytes = Buffer.from(text);
      const half = bytes.length >> 1;
      parser.push(bytes.subarray(0, half));
      parser.push(bytes.subarray(half));
      parser.end();
    },
  },
  {
    name: "data URLs",
    samples: ["data:image/png;base64,AAAA", "data:text/plain;charset=utf-8,hi"],
    parse: parseDataUrl,
  },
  { name: "durations", samples: ["1h30m", "90s", "2d", "5m"], parse: parseDuration },
  { name: "key paths", samples: ['a.b["c.d"][0].e', "hooks.entries.x"], parse: parseKeyPath },
  {
    name: "networks",
    samples: ["10.0.0.0/8", "::1", "fe80::/10"],
    parse: (text) => parseNetworks([text]),
  },
  {
    name: "nearest name",
    samples: ["message:recieved"],
    parse: (text) => didYouMean(text, ["message:received", "cron:fired"]),
  },
  {
    name: "addresses under the guard",
    samples: [
      "http://127.0.0.1/",
      "https://[::ffff:7f00:1]:8/x",
      "http://0x7f.1/",
      "http://user@host/",
    ],
    parse: (text) => guard.precheck(text),
  },
  {
    name: "configuration files",
    samples: [
      '{ gateway: { port: 1, }, /* c */ "a.b": [1, 2], } // end',
      "{hooks: {entries: {x: {enabled: false}}}}",
    ],
    parse: (text) => parseJson5(text),
  },
  {
    name: "HOOK.md",
    samples: [
      "---\nname: a\nevents: [message:received]\npriority: 3\n---\n\n# A\n",
      '---\nmetadata: {"x":{"events":["a:b"]}}\n---\n',
    ],
    parse: (text) => parseHookMd(text),
  },
  {
    name: "feeds",
    samples: [
      "<rss><channel><item><title>a</title><link>http://x/</link><guid>1</guid></item></channel></rss>",
      '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title>a &amp; b</title></entry></feed>',
      '{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1","title":"a"}]}',
    ],
    parse: (text) => parseFeed(text),
  },
  {
    name: "JSON lists",
    samples: ['{"a":{"b":[{"id":1}]}}', "[1,2]"],
    parse: (text) => parseJsonItems(text, "a.b", "id"),
  },
  {
    name: "templates",
    samples: ["{body.a.b} of {headers.x-y}", "{json body}", "{body.items[0].id}"],
    parse: (text) => readTemplate(text, "message"),
  },
  {
    name: "paths of payloads",
    samples: ["body.items[0].id", "headers.x-a"],
    parse: (text) => readPath(text),
  },
];
