/** What the owner's configuration grants to principals: contributed by the plugins that own their entries. */
import {
  type Client,
  partsOf,
  type PluginContext,
  type Principal,
  type PrincipalKind,
} from "portico";

/** What the entry of a key, webhook, mapping or poll says. Nothing: what every principal of its kind has. */
export interface Grant {
  /** Names of further tools, as patterns. */
  tools?: readonly string[] | undefined;
  /** Patterns of further sessions. */
  sessions?: readonly string[] | undefined;
  /** The entry asks for its results to be posted to the main session. */
  announce?: boolean | undefined;
  /** On whose account models are asked where no caller waits; default the owner's. */
  client?: Client | undefined;
}

/** Contribution `grant`: where the entries of one kind of principal are looked up. */
export interface GrantSource {
  /** Names it in messages. */
  name: string;
  kind: PrincipalKind;
  /** Of every entry of that name: two entries that share a name share a principal. */
  find(name: string): readonly Grant[] | Promise<readonly Grant[]>;
}

/** What all entries of the principal's name grant; undefined where there is no such entry. */
export async function findGrant(
  { list }: Pick<PluginContext, "list">,
  principal: Principal,
): Promise<Grant | undefined> {
  const parts = partsOf(principal);
  if (parts === undefined) return undefined;
  const sources = list("grant").filter(({ kind }) => kind === parts.kind);
  const grants = (await Promise.all(sources.map(({ find }) => find(parts.name)))).flat();
  return grants.length === 0 ? undefined : grants.reduce(inCommon);
}

/** Two entries with one name: only what both of them grant, because a turn does not show which one started it. */
function inCommon(first: Grant, second: Grant): Grant {
  const common = (a: readonly string[] = [], b: readonly string[] = []) =>
    a.filter((item) => b.includes(item));
  return {
    tools: common(first.tools, second.tools),
    sessions: common(first.sessions, second.sessions),
    announce: first.announce === true && second.announce === true,
    client: first.client ?? second.client,
  };
}
