// A complete Kinfolk worker in TypeScript, on node-postgres alone: it follows the protocol of docs/sql.md.
//
// It registers, renews its lease, claims, settles, makes children, retries, times out, cancels, recovers what lost workers
// held, and leaves. Schedules and figures are left to a Rust worker on the same database.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

export type Handler = (task: Attempt) => Promise<unknown>;
type Row = Record<string, any>;
type Ending = { sql: string; values: unknown[] } | undefined;

const CLAIM = "select * from kinfolk.claim($1, $2, $3, $4, $5, $6)";
const SETTLE = `select answer, state from kinfolk.settle(array[$1::bigint], array[$2::uuid], array[$3], array[$4::jsonb],
  array[$5::jsonb], array[$6::bigint])`;
const SETTLE_MADE = `select answer, state from kinfolk.settle_made($1, $2, $3, 'together', $4, $5, $6::jsonb[], $7::text[])`;

/** Thrown by a handler: the task has failed for good. */
export class GiveUp extends Error {}

/** Thrown by a handler: the attempt failed, and the next one starts after this many seconds. */
export class RetryAfter extends Error {
  constructor(readonly seconds: number, message: string) {
    super(message);
  }
}

/** The lease is lost, and with it everything in hand. */
class Lost extends Error {}

/** What a handler is given. A task's number is a string: it has more digits than a number can hold. */
export class Attempt {
  readonly id: string;
  readonly command: string;
  readonly payload: any;
  readonly attempt: number;
  readonly timeout?: number;
  readonly children: { command: string; payload: unknown; queue: string | null }[] = [];
  readonly stop = new AbortController();
  endAsked = false;
  running: Promise<void> = Promise.resolve();

  constructor(private readonly worker: Worker, row: Row, readonly token: string) {
    ({ id: this.id, command: this.command, payload: this.payload, attempt: this.attempt } = row as Attempt);
    this.timeout = row.timeout_us === null ? undefined : Number(row.timeout_us) / 1000;
  }

  /** Is aborted when the handler has to end: hand it to whatever takes time. */
  get signal(): AbortSignal {
    return this.stop.signal;
  }

  /** Makes a child, if and when this attempt ends well. The task waits for it without a worker. */
  spawn(command: string, payload: unknown = null, queue: string | null = null): void {
    this.children.push({ command, payload, queue });
  }

  /** Says how far it has come. */
  async report(done: number, total: number, note = ""): Promise<void> {
    const report = JSON.stringify({ done, total, note });
    await this.worker.call("select kinfolk.report($1, $2, $3)", [this.id, this.token, report]);
  }
}

/** Runs tasks of one queue until it is told to stop. */
export class Worker {
  private id = "";
  private readonly pool: pg.Pool;
  private readonly held = new Map<string, Attempt>();
  private readonly commands: string[];
  private readonly wake = new Bell();
  private readonly beat = new Bell();
  private stopping = false;

  constructor(
    private readonly address: string,
    private readonly queue: string,
    private readonly handlers: Record<string, Handler>,
    private readonly lease = 30,
    private readonly capacity = 10,
  ) {
    this.commands = Object.keys(handlers);
    this.pool = new pg.Pool({ connectionString: address, max: 4 });
    this.pool.on("error", () => {}); // A connection that broke while nobody used it: the pool makes another one.
  }

  /** Calls a function, and again when its answer was lost. Every function may be repeated as it was. */
  async call(sql: string, values: unknown[] = [], repeat = values): Promise<Row[]> {
    for (let given = values; ; given = repeat) {
      try {
        return (await this.pool.query(sql, given)).rows;
      } catch (fault) {
        const code = (fault as pg.DatabaseError).code ?? "";
        if (code === "KF004") {
          this.beat.ring();
          throw new Lost();
        }
        // An error with a code of PostgreSQL's is an answer, unless the server goes down or comes up.
        if (/^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) && !/^(08|57P|40|53)/.test(code)) throw fault;
        console.log(`the store does not answer, the call is repeated: ${fault}`);
        await sleep(500);
      }
    }
  }

  /** Becomes a worker, under an id of its own. */
  private async register(): Promise<void> {
    this.id = randomUUID();
    const values = [this.id, [this.queue], this.commands, this.lease * 1_000_000];
    await this.call("select kinfolk.register_worker($1, 'typescript', $2, $3, $4)", values);
    console.log(`worker ${this.id} started`);
  }

  /** Renews the lease every sixth of it, and stops what is to end. */
  private async keepLease(): Promise<void> {
    while (!this.stopping || this.held.size > 0) {
      try {
        for (const row of await this.call("select * from kinfolk.heartbeat($1)", [this.id])) {
          const held = this.held.get(row.id);
          if (held && held.token === row.token) {
            held.endAsked = true;
            held.stop.abort();
          }
        }
      } catch (fault) {
        if (!(fault instanceof Lost)) throw fault;
        // The tasks are with others by now: nothing of theirs may be written.
        this.held.forEach((held) => held.stop.abort());
        await this.register();
      }
      await this.beat.wait((this.lease * 1000) / 6);
    }
  }

  /** Wake-ups spare polling; one that gets lost costs a second. */
  private async listen(): Promise<void> {
    while (!this.stopping) {
      const client = new pg.Client({ connectionString: this.address });
      const ended = new Promise<void>((resolve) => client.on("error", () => resolve()).on("end", resolve));
      client.on("notification", ({ payload }) => {
        if (payload === `q:${this.queue}`) this.wake.ring();
        if (payload === `c:${this.id}`) this.beat.ring();
      });
      await client.connect().then(() => client.query("listen kinfolk")).catch(() => sleep(1000));
      while (!this.stopping && (await Promise.race([ended, sleep(500, "on")])) === "on");
      await client.end().catch(() => {});
    }
  }

  /** Does what some worker has to do: recovers, and now and then prunes and sweeps. */
  private async keepHouse(): Promise<void> {
    for (let second = 0; !this.stopping; second += 1) {
      await this.unlessLost(async () => {
        while ((await this.call("select more from kinfolk.recover($1)", [this.id]))[0]!.more);
        return true;
      });
      if (second % 30 === 0) while ((await this.call("select kinfolk.prune() removed"))[0]!.removed !== "0");
      if (second % 60 === 0) await this.call("select kinfolk.sweep()");
      await sleep(1000);
    }
  }

  /** False, too, when the lease is lost: who keeps it registers anew. */
  private unlessLost(act: () => Promise<boolean>): Promise<boolean> {
    return act().catch((fault) => {
      if (fault instanceof Lost) return false;
      throw fault;
    });
  }

  /** Takes as much as there is room for. Whether there may be more to take. */
  private async claim(): Promise<boolean> {
    const room = this.capacity - this.held.size;
    if (room === 0) return false;
    const token = randomUUID();
    const values = [this.id, token, this.queue, this.commands, room];
    const rows = await this.call(CLAIM, [...values, false], [...values, true]);
    const last = rows.find((row) => row.id === null)!;
    const tasks = rows.filter((row) => row.id !== null).sort((one, other) =>
      last.turns
        ? last.turns.indexOf(one.id) - last.turns.indexOf(other.id)
        : one.priority - other.priority || one.position - other.position || Number(one.id) - Number(other.id));
    for (const row of tasks) {
      const attempt = new Attempt(this, row, token);
      this.held.set(attempt.id, attempt);
      attempt.running = this.run(attempt);
    }
    return last.again || tasks.length === room;
  }

  /** Runs one attempt and records how it ended. What was dropped is recorded by nobody: it belongs to others. */
  private async run(attempt: Attempt): Promise<void> {
    const ending = await this.ending(attempt);
    if (ending) {
      const [answer] = await this.call(ending.sql, [attempt.id, attempt.token, ...ending.values]);
      if (answer?.answer === "stale") console.log(`task ${attempt.id} had gone to another worker; nothing was written`);
    }
    if (this.held.get(attempt.id) === attempt) this.held.delete(attempt.id);
    this.wake.ring();
  }

  /** How it ended, as the arguments of a settle. */
  private async ending(attempt: Attempt): Promise<Ending> {
    const { timeout, children, stop } = attempt;
    let late = false;
    const timer = timeout && setTimeout(() => ((late = true), stop.abort()), timeout);
    const aborted = new Promise<never>((_, reject) => stop.signal.addEventListener("abort", () => reject(new Lost())));
    try {
      const result = JSON.stringify((await Promise.race([this.handlers[attempt.command]!(attempt), aborted])) ?? null);
      if (children.length === 0) return settle("done", result);
      const payloads = children.map((child) => JSON.stringify(child.payload));
      const [commands, queues] = [children.map((child) => child.command), children.map((child) => child.queue)];
      return { sql: SETTLE_MADE, values: [result, children.map(() => "child"), commands, payloads, queues] };
    } catch (fault) {
      if (attempt.endAsked) return settle("cancelled");
      if (late) return settle("failed", null, "timeout", `it ran for more than ${timeout} milliseconds`);
      if (stop.signal.aborted) return undefined;
      if (fault instanceof GiveUp) return settle("never", null, "validation", fault.message);
      const delay = fault instanceof RetryAfter ? Math.round(fault.seconds * 1_000_000) : null;
      return settle("failed", null, "error", String(fault), delay);
    } finally {
      clearTimeout(timer as NodeJS.Timeout);
    }
  }

  /** Works until SIGTERM or Ctrl-C; then lets handlers end, and gives the rest back at no cost. */
  async work(grace = 20): Promise<void> {
    for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => this.stop());
    for (const command of this.commands) {
      await this.call("select kinfolk.register_command($1, queue => $2)", [command, this.queue]);
    }
    await this.register();
    const fail = (fault: unknown): never => {
      console.error(fault);
      process.exit(1); // As good as a crash: others recover what is in hand.
    };
    const duties = [this.keepLease(), this.listen(), this.keepHouse()].map((duty) => duty.catch(fail));
    while (!this.stopping) if (!(await this.unlessLost(() => this.claim()))) await this.wake.wait(1000);
    const running = () => Promise.allSettled([...this.held.values()].map((held) => held.running));
    await Promise.race([running(), sleep(grace * 1000, undefined, { ref: false })]);
    this.held.forEach((held) => held.stop.abort());
    await running();
    this.beat.ring();
    await Promise.all(duties);
    await this.call("select kinfolk.leave($1)", [this.id]);
    await this.pool.end();
  }

  /** Claims nothing more. */
  stop(): void {
    this.stopping = true;
    this.wake.ring();
  }
}

/** The arguments of a settle. A message has at most 4,096 bytes. */
function settle(outcome: string, result: string | null = null, kind?: string, message = "", delay: number | null = null): Ending {
  const text = Buffer.from(message).subarray(0, 4096).toString().replace(/\ufffd+$/, "");
  return { sql: SETTLE, values: [outcome, result, kind ? JSON.stringify({ kind, message: text }) : null, delay] };
}

/** Wakes one who waits; rung before, it is heard at once. */
class Bell {
  private rung = false;
  private hear?: () => void;

  ring(): void {
    this.rung = true;
    this.hear?.();
  }

  async wait(milliseconds: number): Promise<void> {
    const timer = new AbortController();
    const heard = new Promise<void>((resolve) => (this.hear = resolve));
    if (!this.rung) await Promise.race([heard, sleep(milliseconds, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
    this.rung = false;
  }
}
