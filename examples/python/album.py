"""A photo album: the handlers of this example, and nothing of the protocol."""

import asyncio

import worker


async def make_album(task):
    """Resizes every photo in a task of its own; the album is done when all of them are."""
    for photo in task.payload["photos"]:
        task.spawn("py.resize", {"photo": photo})
    # A command that another worker on this queue handles: here it is one in Rust.
    task.spawn("echo", {"title": task.payload["title"]}, queue="album")
    return {"photos": len(task.payload["photos"])}


async def resize(task):
    """Fails for good without a photo; a blurred one is looked at twice."""
    photo = task.payload.get("photo")
    if not photo:
        raise worker.GiveUp("there is no photo in the payload")
    if photo == "blurred" and task.attempt == 1:
        raise worker.RetryAfter(0.1, "it is blurred")
    return {"small": f"small-{photo}"}


async def print_album(task):
    """Takes long, says how far it has come, and can be cancelled at any page."""
    pages = task.payload["pages"]
    for page in range(1, pages + 1):
        await task.report(page, pages, f"page {page}")
        await asyncio.sleep(0.1)
    return {"printed": pages}


if __name__ == "__main__":
    worker.main({"py.album": make_album, "py.resize": resize, "py.print": print_album}, queue="album")
