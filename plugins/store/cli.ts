/** `portico store`. */
import { defineCommand } from "portico/command-line";

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
      summary: "Size, health and what is queued",
      async run(io) {
        const status = await io.gateway.request<Status>("GET", "/store");
        io.show(status, describe);
      },
    },
    {
      name: "check",
      summary: "Look for damage; fails where there is any",
      async run(io) {
        io.progress("checking …");
        const answer = await io.gateway.request<{ ok: boolean; problems: string[] }>(
          "POST",
          "/store/check",
          undefined,
          {
            timeoutMs: 600_000,
          },
        );
        io.show(answer, ({ problems }) => (problems.length === 0 ? "The store is sound." : problems));
        if (!answer.ok) throw new Error(`The store has ${answer.problems.length} problems.`);
      },
    },
    {
      name: "backup",
      summary: "Write a consistent copy into <home>/state/backups",
      async run(io) {
        io.progress("copying …");
        const answer = await io.gateway.request<{ name: string; bytes: number }>("POST", "/store/backup", undefined, {
          timeoutMs: 600_000,
        });
        io.show(answer, ({ name, bytes }) => `Wrote state/backups/${name} (${size(bytes)}).`);
      },
    },
    {
      name: "migrate",
      summary: "Copy one engine's state to another, checked row by row; called again, it goes on where it was",
      description: "Stop all gateways of the source first. The target must be empty, or have been begun from it.",
      options: {
        from: { type: "string", value: "URL", description: "file:PATH or postgres://…; default: this home's store" },
        to: { type: "string", value: "URL", description: "file:PATH or postgres://…" },
      },
      examples: ["portico store migrate --to postgres://portico@db.example/portico"],
      run: async (io) => (await import("./transfer/migrate.ts")).migrate(io),
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
        io.show(answer, ({ before, after }) => `From ${size(before)} to ${size(after)}.`);
      },
    },
  ],
});

function describe(status: Status): string[] {
  const state = status.ok ? "sound" : (status.problem ?? "not well");
  const lines = [`${status.engine}: ${state}${status.bytes === undefined ? "" : `, ${size(status.bytes)}`}`];
  for (const [kind, states] of Object.entries(status.queue?.kinds ?? {})) {
    lines.push(
      `${kind}: ${Object.entries(states)
        .map(([name, n]) => `${n} ${name}`)
        .join(", ")}`,
    );
  }
  return lines;
}

function size(bytes: number): string {
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} kB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
