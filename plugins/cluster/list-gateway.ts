/** Lists this gateway among those that share the store. */
import type { PluginContext } from "portico";
import { Register } from "./register.ts";
import { gatewaysRoute } from "./routes-schema.ts";

export function listGateway(ctx: PluginContext, nameAtSetup: string | undefined): void {
  let name = nameAtSetup;
  const { id, startedAt } = ctx.use("gateway");
  const register = new Register({
    store: () => ctx.use("store"),
    workers: ctx.find("workers"),
    gateway: id,
    name: () => name,
    version: ctx.version,
    url: () => ctx.url(),
    startedAt,
  });
  const renew = async () => {
    // The address is known once the gateway listens.
    if (!register.isWriter || ctx.ports()[0] === 0) return;
    await register.renew().catch((err: unknown) => {
      // The exchange of messages warns of a store that does not respond.
      ctx.log.debug({ err }, "The gateway's entry in the list of gateways was not renewed.");
    });
  };

  ctx.route("GET", "/gateways", gatewaysRoute, async () => ({ gateways: await register.list() }));
  ctx.onConfig((next: { "gateway.name"?: string | undefined }) => {
    name = next["gateway.name"];
    return renew();
  });
  if (!register.isWriter) return;
  // The scope undoes this after the task, so that no renewal writes the entry again.
  ctx.defer(async () => {
    // After a reload, the new version of this plugin provides the service and renews the entry.
    const isReplaced = ctx.find("cluster") !== undefined;
    if (!isReplaced) await register.remove();
  });
  ctx.on("gateway:startup", renew);
  ctx.task(
    "renew the entry of the gateway",
    { everyMs: Register.renewMs, immediately: true },
    renew,
  );
}
