/** The rights that the owner's configuration grants to principals. The plugins that own the entries contribute them. */
import {
  type Client,
  partsOf,
  type PluginContext,
  type Principal,
  type PrincipalKind,
} from "portico";

/**
 * The rights that the entry of a key, webhook, mapping or poll grants beyond those that all principals of its kind
 * have.
 */
export interface Grant {
  /** Patterns of the names of additional tools. */
  tools?: readonly string[] | undefined;
  /** Patterns of additional sessions. */
  sessions?: readonly string[] | undefined;
  /** True if results may be posted to the main session. */
  announce?: boolean | undefined;
  /** The client that pays for requests to models when no caller is waiting. Default: the owner. */
  client?: Client | undefined;
}

/** Contribution `grant`: looks up the entries of one kind of principal. */
export interface GrantSource {
  /** The name of this source in messages. */
  name: string;
  kind: PrincipalKind;
  /** Returns the grant of every entry with that name, because entries that share a name share a principal. */
  find(name: string): readonly Grant[] | Promise<readonly Grant[]>;
}

/** Returns the rights that all entries with the principal's name grant; undefined if there is no such entry. */
export async function findGrant(
  { list }: Pick<PluginContext, "list">,
  principal: Principal,
): Promise<Grant | undefined> {
  const parts = partsOf(principal);
  if (parts === undefined) return undefined;
  const sources = list("grant").filter(({ kind }) => kind === parts.kind);
  const grants = (await Promise.all(sources.map(({ find }) => find(parts.name)))).flat();
  return grants.length === 0 ? undefined : grants.reduce(intersectGrants);
}

/**
 * Two entries with one name grant only what both of them grant, because a turn does not record which one started it.
 */
function intersectGrants(first: Grant, second: Grant): Grant {
  const intersect = (a: readonly string[] = [], b: readonly string[] = []) =>
    a.filter((item) => b.includes(item));
  return {
    tools: intersect(first.tools, second.tools),
    sessions: intersect(first.sessions, second.sessions),
    announce: first.announce === true && second.announce === true,
    client: first.client ?? second.client,
  };
}
