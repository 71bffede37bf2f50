/** Parsers of text from outside, each with what it usually reads. They may refuse with an error, never crash or hang. */
import { parseDataUrl, createSseParser } from "portico/chat";
import { parseDuration } from "portico/cron";
import { didYouMean } from "portico";
import { parseProxies } from "../../kernel/http/address.ts";
import { parseKeyPath } from "../../kernel/text/key-path.ts";
import { createGuard } from "portico/egress";

export interface Parser {
  name: string;
  samples: readonly string[];
  parse(text: string): unknown;
}

const guard = createGuard({ policy: () => ({ allowPrivate: false }), ownPorts: () => [1], code: "address_blocked" });

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
  { name: "networks", samples: ["10.0.0.0/8", "::1", "fe80::/10"], parse: (text) => parseProxies([text]) },
  {
    name: "nearest name",
    samples: ["message:recieved"],
    parse: (text) => didYouMean(text, ["message:received", "cron:fired"]),
  },
  {
    name: "addresses under the guard",
    samples: ["http://127.0.0.1/", "https://[::ffff:7f00:1]:8/x", "http://0x7f.1/", "http://user@host/"],
    parse: (text) => guard.precheck(text),
  },
];
