// A photo album: the handlers of this example, and nothing of the protocol.

import { setTimeout as sleep } from "node:timers/promises";
import { type Attempt, GiveUp, RetryAfter, Worker } from "./worker.js";

/** Resizes every photo in a task of its own; the album is done when all of them are. */
async function makeAlbum(task: Attempt): Promise<{ photos: number }> {
  const { title, photos }: { title: string; photos: string[] } = task.payload;
  for (const photo of photos) task.spawn("ts.resize", { photo });
  // A command that another worker on this queue handles: here it is one in Rust.
  task.spawn("echo", { title }, "album");
  return { photos: photos.length };
}

/** Fails for good without a photo; a blurred one is looked at twice. */
async function resize(task: Attempt): Promise<{ small: string }> {
  const { photo }: { photo?: string } = task.payload;
  if (!photo) throw new GiveUp("there is no photo in the payload");
  if (photo === "blurred" && task.attempt === 1) throw new RetryAfter(0.1, "it is blurred");
  return { small: `small-${photo}` };
}

/** Takes long, says how far it has come, and can be cancelled at any page. */
async function printAlbum(task: Attempt): Promise<{ printed: number }> {
  const { pages }: { pages: number } = task.payload;
  for (let page = 1; page <= pages; page += 1) {
    await task.report(page, pages, `page ${page}`);
    await sleep(100, undefined, { signal: task.signal });
  }
  return { printed: pages };
}

const handlers = { "ts.album": makeAlbum, "ts.resize": resize, "ts.print": printAlbum };
const { KINFOLK_DATABASE = "", KINFOLK_LEASE = "30", KINFOLK_GRACE = "20" } = process.env;
await new Worker(KINFOLK_DATABASE, "album", handlers, Number(KINFOLK_LEASE)).work(Number(KINFOLK_GRACE));
