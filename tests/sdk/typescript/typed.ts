import { DeskError, Session, StateConflict, type Decision, type Message } from "../../../sdk/ts/index.js";

export async function program(): Promise<string> {
  const session = await Session.create("a", "Shop", { userId: "ines", onError: (error) => error.message });
  const sent: string = session.sendMessage("hello", "user", { clientId: "one" });
  const found: { order: string } = await session.toolCall("find", { order: "1" }, async () => ({ order: "1" }));
  session.usage({ model: "m", inputTokens: 1 });
  const decision: Decision = await session.approve("pay", { amount: 1 }, { wait: 1000 });
  const said: Message[] = await session.history({ limit: 1, role: "assistant" });
  const file: Uint8Array = await session.export("jsonl");
  const version: number = await session.setState("cart", ["tea"], "user", { ifVersion: 0 });
  const cart: string[] = await session.updateState<string[]>("cart", (held) => [...held, "milk"], "user", []);
  // @ts-expect-error: no such role
  session.sendMessage("hello", "robot");
  // @ts-expect-error: a model is said
  session.usage({ inputTokens: 1 });
  const taken: number = (await session.prune("summarize_old", { threshold: 20, dryRun: true })).pruned;
  const due: number = (await session.retention()).messages_in_sight + (await session.showPruned()).messages + taken;
  // @ts-expect-error: no such word of a retention
  new Session("b", "Shop", { retention: { ttl_days: 1 } });
  const patient = new Session("c", "Shop", { whenFull: "wait", strict: true, spool: false });
  await patient.room();
  // @ts-expect-error: drop or wait
  new Session("d", "Shop", { whenFull: "never" });
  const error: DeskError = new StateConflict("x");
  return [sent, found.order, decision.status, said.length, file.length, version, cart.length, error.status, due].join();
}
