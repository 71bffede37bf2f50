/** `portico store`. */
import { defineCommand } from "portico/command-line";
import { sizeText } from "./inspection/size-text.ts";

interface Status {
  ok: boolean;
  engine: string;
  bytes?: number;
  problem?: string;
  queue?: { kinds: Record<string, Record<string, number>> };
}

export default defineCommand({
  name: "store",
  summary: "The store: its state, checks and copies",
  commands: [
    {
      name: "status",
      summary: "Size, health and what is queued; fails where it is not well",
      async run(io) {
        const status = await io.gateway.request<Status>("GET", "/store");
        io.show(status, describe);
        if (!status.ok) throw new Error("The store is not well: see portico store check.");
      },
    },
    {
      name: "check",
      summary: "Look for damage, in a copy too; fails where there is any",
      description:
        "Without STORE the running gateway checks its own; where none runs, the home's is looked at as it lies there. With one, that file or database, before it is restored: no gateway needs to run, and nothing is changed.",
      args: [{ name: "store", description: "A file, or postgres://…", optional: true }],
      examples: [
        "portico store check",
        "portico store check state/backups/portico-2026-01-31T04-00-00.000Z-5d8f01c2.db",
      ],
      run: async (io) => (await import("./inspection/command.ts")).check(io),
    },
    {
      name: "backup",
      summary: "Write a consistent copy into <home>/state/backups",
      async run(io) {
        io.progress("copying …");
        const answer = await io.gateway.request<{ name: string; bytes: number }>(
          "POST",
          "/store/backup",
          undefined,
          {
            timeoutMs: 600_000,
          },
        );
        io.show(answer, ({ name, bytes }) => `Wrote state/backups/${name} (${sizeText(bytes)}).`);
      },
    },
    {
      name: "migrate",
      summary:
        "Copy one engine's state to another, checked row by row; called again, it goes on where it was",
      description:
        "Stop all gateways of the source first. The target must be empty, or have been begun from it.",
      options: {
        from: {
          type: "string",
          value: "URL",
          description: "file:PATH or postgres://…; default: this home's store",
        },
        to: { type: "string", value: "URL", description: "file:PATH or postgres://…" },
      },
      examples: ["portico store migrate --to postgres://portico@db.example/portico"],
      run: async (io) => (await import("./migrate.ts")).migrate(io),
    },
    {
      name: "compact",
      summary: "Give free space back to the disk",
      async run(io) {
        io.progress("compacting …");
        const answer = await io.gateway.request<{ before: number; after: number }>(
          "POST",
          "/store/compact",
          undefined,
          {
            timeoutMs: 600_000,
          },
        );
        io.show(answer, ({ before, after }) => `From ${sizeText(before)} to ${sizeText(after)}.`);
      },
    },
  ],
});

function describe(status: Status): string[] {
  const state = status.ok ? "sound" : (status.problem ?? "not well");
  const lines = [
    `${status.engine}: ${state}${status.bytes === undefined ? "" : `, ${sizeText(status.bytes)}`}`,
  ];
  for (const [kind, states] of Object.entries(status.queue?.kinds ?? {})) {
    lines.push(
      `${kind}: ${Object.entries(states)
        .map(([name, n]) => `${n} ${name}`)
        .join(", ")}`,
    );
  }
  return lines;
}
