"""A complete Kinfolk worker in Python, on psycopg alone: it follows the protocol of docs/sql.md.

It registers, renews its lease, claims, settles, makes children, retries, times out, cancels, recovers what lost workers
held, and leaves. Schedules and figures are left to a Rust worker on the same database.
"""

import asyncio
import contextlib
import os
import signal
import uuid

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

CLAIM = """select * from kinfolk.claim(%(worker)s, %(token)s, %(queue)s, %(commands)s, %(room)s, %(repeated)s)"""
SETTLE = """select answer, state from kinfolk.settle(
    array[%(id)s::bigint], array[%(token)s::uuid], array[%(outcome)s], array[%(result)s::jsonb],
    array[%(failure)s::jsonb], array[%(delay_us)s::bigint])"""
SETTLE_MADE = """select answer, state from kinfolk.settle_made(
    %(id)s, %(token)s, %(result)s, 'together', %(kinds)s, %(commands)s, %(payloads)s::jsonb[],
    %(queues)s::text[])"""
REPORT = "select kinfolk.report(%(id)s, %(token)s, %(report)s)"


class GiveUp(Exception):
    """Raised by a handler: the task has failed for good."""


class RetryAfter(Exception):
    """Raised by a handler: the attempt failed, and the next one starts after this many seconds."""

    def __init__(self, seconds, message):
        super().__init__(message)
        self.seconds = seconds


class Lost(Exception):
    """The lease is lost, and with it everything in hand."""


class Attempt:
    """What a handler is given."""

    def __init__(self, worker, row, token):
        self.worker, self.id, self.token = worker, row["id"], token
        self.command, self.payload = row["command"], row["payload"]
        self.attempt, self.timeout_us = row["attempt"], row["timeout_us"]
        self.children, self.end_asked, self.running = [], False, None

    def spawn(self, command, payload=None, queue=None):
        """Makes a child, if and when this attempt ends well. The task waits for it without a worker."""
        self.children.append((command, Jsonb(payload), queue))

    async def report(self, done, total, note=""):
        """Says how far it has come."""
        report = Jsonb({"done": done, "total": total, "note": note})
        await self.worker.call(REPORT, id=self.id, token=self.token, report=report)


class Worker:
    """Runs tasks of one queue until it is told to stop."""

    def __init__(self, address, queue, handlers, capacity=10, lease=30.0):
        self.address, self.queue, self.handlers = address, queue, handlers
        self.capacity, self.lease = capacity, lease
        self.held, self.wake, self.beat, self.stopping = {}, asyncio.Event(), asyncio.Event(), False
        self.connection, self.connecting = None, asyncio.Lock()

    async def call(self, sql, **arguments):
        """Calls a function, and again when its answer was lost. Every function may be repeated as it was."""
        arguments.setdefault("repeated", False)
        while True:
            try:
                async with self.connecting:
                    if self.connection is None or self.connection.closed:
                        self.connection = await psycopg.AsyncConnection.connect(
                            self.address, autocommit=True, row_factory=dict_row)
                return await (await self.connection.execute(sql, arguments)).fetchall()
            except psycopg.Error as fault:
                if fault.sqlstate == "KF004":
                    self.beat.set()
                    raise Lost from fault
                if not isinstance(fault, psycopg.OperationalError):
                    raise
                print(f"the store does not answer, the call is repeated: {fault}", flush=True)
                arguments["repeated"] = True
                await asyncio.sleep(0.5)

    async def register(self):
        """Becomes a worker, under an id of its own."""
        self.id = uuid.uuid4()
        await self.call(
            "select kinfolk.register_worker(%(worker)s, 'python', array[%(queue)s], %(commands)s, %(lease_us)s)",
            worker=self.id, queue=self.queue, commands=list(self.handlers), lease_us=int(self.lease * 1_000_000))
        print(f"worker {self.id} started", flush=True)

    async def keep_lease(self):
        """Renews the lease every sixth of it, and stops what is to end."""
        while True:
            try:
                for row in await self.call("select * from kinfolk.heartbeat(%(worker)s)", worker=self.id):
                    held = self.held.get(row["id"])
                    if held and held.token == row["token"]:
                        held.end_asked = True
                        held.running.cancel()
            except Lost:
                # The tasks are with others by now: nothing of theirs may be written.
                for held in self.held.values():
                    held.running.cancel()
                await self.register()
            await wait(self.beat, self.lease / 6)

    async def listen(self):
        """Wake-ups spare polling; one that gets lost costs a second."""
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self.address, autocommit=True) as connection:
                    await connection.execute("listen kinfolk")
                    async for notice in connection.notifies():
                        if notice.payload == f"q:{self.queue}":
                            self.wake.set()
                        elif notice.payload == f"c:{self.id}":
                            self.beat.set()
            except psycopg.OperationalError:
                await asyncio.sleep(1)

    async def keep_house(self):
        """Does what some worker has to do: recovers, and now and then prunes and sweeps."""
        second = 0
        while True:
            with contextlib.suppress(Lost):
                while (await self.call("select more from kinfolk.recover(%(worker)s)", worker=self.id))[0]["more"]:
                    pass
            if second % 30 == 0:
                while (await self.call("select kinfolk.prune() removed"))[0]["removed"]:
                    pass
            if second % 60 == 0:
                await self.call("select kinfolk.sweep()")
            second += 1
            await asyncio.sleep(1)

    async def claim(self):
        """Takes as much as there is room for. Whether there may be more to take."""
        room = self.capacity - len(self.held)
        if room == 0:
            return False
        token = uuid.uuid4()
        rows = await self.call(CLAIM, worker=self.id, token=token, queue=self.queue, commands=list(self.handlers), room=room)
        *tasks, last = sorted(rows, key=lambda row: row["id"] is None)
        turns = last["turns"]
        tasks.sort(key=lambda row: turns.index(row["id"]) if turns else (row["priority"], row["position"], row["id"]))
        for row in tasks:
            attempt = self.held[row["id"]] = Attempt(self, row, token)
            attempt.running = asyncio.create_task(self.run(attempt))
        return last["again"] or len(tasks) == room

    async def run(self, attempt):
        """Runs one attempt and records how it ended. What was dropped is recorded by nobody: it belongs to others."""
        try:
            ending = await self.ending(attempt)
            if ending:
                answers = await self.call(ending.pop("sql"), id=attempt.id, token=attempt.token, **ending)
                if answers and answers[0]["answer"] == "stale":
                    print(f"task {attempt.id} had gone to another worker; nothing was written", flush=True)
        finally:
            if self.held.get(attempt.id) is attempt:
                del self.held[attempt.id]
            self.wake.set()

    async def ending(self, attempt):
        """How it ended, as the arguments of a settle."""
        seconds = attempt.timeout_us / 1_000_000 if attempt.timeout_us else None
        try:
            result = Jsonb(await asyncio.wait_for(self.handlers[attempt.command](attempt), seconds))
        except asyncio.CancelledError:
            return settle("cancelled") if attempt.end_asked else None
        except asyncio.TimeoutError:
            return settle("failed", failure=("timeout", f"it ran for more than {seconds} seconds"))
        except GiveUp as fault:
            return settle("never", failure=("validation", fault))
        except RetryAfter as fault:
            return settle("failed", failure=("error", fault), delay_us=int(fault.seconds * 1_000_000))
        except Exception as fault:
            return settle("failed", failure=("error", fault))
        if not attempt.children:
            return settle("done", result)
        commands, payloads, queues = map(list, zip(*attempt.children))
        return {"sql": SETTLE_MADE, "result": result, "kinds": ["child"] * len(commands),
                "commands": commands, "payloads": payloads, "queues": queues}

    async def work(self, grace=20.0):
        """Works until SIGTERM or Ctrl-C; then lets handlers end, and gives the rest back at no cost."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.stop)
        for command in self.handlers:
            await self.call("select kinfolk.register_command(%(command)s, queue => %(queue)s)", command=command, queue=self.queue)
        await self.register()
        duties = [asyncio.create_task(duty()) for duty in (self.keep_lease, self.listen, self.keep_house)]
        while not self.stopping and not any(duty.done() for duty in duties):
            with contextlib.suppress(Lost):
                if await self.claim():
                    continue
            await wait(self.wake, 1.0)
        running = [held.running for held in self.held.values()]
        if running:
            await asyncio.wait(running, timeout=grace)
        for ending in [*running, *duties]:
            ending.cancel()
        endings = await asyncio.gather(*duties, *running, return_exceptions=True)
        await self.call("select kinfolk.leave(%(worker)s)", worker=self.id)
        for fault in (ending for ending in endings if isinstance(ending, Exception)):
            raise fault

    def stop(self):
        """Claims nothing more."""
        self.stopping = True
        self.wake.set()


def settle(outcome, result=None, failure=None, delay_us=None):
    """The arguments of a settle. A message has at most 4,096 bytes."""
    if failure:
        kind, message = failure
        failure = Jsonb({"kind": kind, "message": str(message).encode()[:4096].decode(errors="ignore")})
    return {"sql": SETTLE, "outcome": outcome, "result": result, "failure": failure, "delay_us": delay_us}


async def wait(event, seconds):
    """Until the event is set, at most so long."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except asyncio.TimeoutError:
        pass
    event.clear()


def main(handlers, queue):
    """Works with these handlers on the database that KINFOLK_DATABASE names."""
    lease, grace = (float(os.environ.get(name, usual)) for name, usual in (("KINFOLK_LEASE", 30), ("KINFOLK_GRACE", 20)))
    asyncio.run(Worker(os.environ["KINFOLK_DATABASE"], queue, handlers, lease=lease).work(grace))
