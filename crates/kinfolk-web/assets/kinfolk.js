// What the pages can't do by themselves: stay current, tick, answer to keys. Without it all of them still work.
(() => {
  "use strict";
  const page = document.documentElement;
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const one = (what, within = document) => within.querySelector(what);
  const base = document.body.dataset.base || "";
  page.classList.add("scripted");

  // The clock of the server, as far as it is known.
  let ahead = 0;
  const now = () => Date.now() + ahead;
  const setClock = () => { ahead = Number(document.body.dataset.now) - Date.now(); };
  const clock = (at) => new Date(at).toISOString().slice(11, 19);

  // The same words as on the server: 486 ms, 7.6 s, 58 s, 2 m 37 s, 3 h 27 m, 6 d 18 h.
  const span = (ms) => {
    ms = Math.max(0, ms);
    const s = Math.floor(ms / 1000);
    if (ms < 1000) return `${Math.round(ms)} ms`;
    if (s < 10) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
    if (s < 60) return `${s} s`;
    const pair = (big, unit, small, rest) => (rest ? `${big} ${unit} ${rest} ${small}` : `${big} ${unit}`);
    if (s < 3600) return pair(Math.floor(s / 60), "m", "s", s % 60);
    if (s < 86400) return pair(Math.floor(s / 3600), "h", "m", Math.floor((s % 3600) / 60));
    return pair(Math.floor(s / 86400), "d", "h", Math.floor((s % 86400) / 3600));
  };
  // Counting milliseconds would flicker: a page's own clock shows whole tenths, then seconds.
  const spoken = (at, as) => {
    const gone = now() - at;
    const calm = (ms) => (ms < 1000 ? "0 s" : span(ms));
    if (as === "in") return gone > 0 ? "now" : `in ${calm(-gone)}`;
    return as === "ago" ? `${calm(gone)} ago` : calm(gone);
  };
  const tick = () => {
    for (const time of all("time[data-as]")) {
      const words = spoken(Number(time.dataset.at), time.dataset.as);
      if (time.textContent !== words) time.textContent = words;
    }
  };

  // Running bars and the line that is now move with the clock; when the air at the end is used up, the page is read again.
  const grow = () => {
    const chart = one("[data-rate]");
    if (!chart || held || state === "lost") return;
    const on = (now() - Number(chart.dataset.at)) * Number(chart.dataset.rate);
    if (on < 0) return;
    for (const mark of all("[data-grow]")) {
      for (const which of mark.dataset.grow.split(" ")) {
        const from = (mark.from ||= {});
        from[which] ??= parseFloat(mark.getAttribute(which));
        mark.setAttribute(which, `${Math.min(from[which] + on, 100)}%`);
      }
    }
    if (Number(chart.dataset.nowx) + on > 99) changed();
  };

  // Patching: the new page is read, and the old one is turned into it, node by node. What has the focus, what is open, what
  // is scrolled and what is ticked stays so. A list with data-rows keeps its rows where they are, and tells of new ones.
  const keyOf = (node) => (node.nodeType === 1 ? node.id || node.dataset.key || "" : "");
  const patch = (old, neu) => {
    if (old.nodeType !== 1) {
      if (old.data !== neu.data) old.data = neu.data;
      return;
    }
    if (old.hasAttribute("data-own")) return;
    const keeps = (name) =>
      (old.nodeName === "DETAILS" && name === "open") ||
      (old.nodeName === "INPUT" && (name === "checked" || name === "value")) ||
      (name === "tabindex" && old.hasAttribute("data-key"));
    for (const { name } of [...old.attributes]) if (!neu.hasAttribute(name) && !keeps(name)) old.removeAttribute(name);
    for (const { name, value } of [...neu.attributes]) {
      if (!keeps(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    old.from = undefined;
    if (old.hasAttribute("data-rows") && !showAll) patchRows(old, neu);
    else patchChildren(old, neu);
  };
  // What was just done stays said, though the page that is read again does not say it.
  const kept = (node) => { while (node?.dataset?.said) node = node.nextSibling; return node; };
  const patchChildren = (old, neu) => {
    const known = new Map();
    for (const child of old.children) if (keyOf(child)) known.set(keyOf(child), child);
    let at = kept(old.firstChild);
    for (const want of [...neu.childNodes]) {
      const key = keyOf(want);
      let have = key ? known.get(key) : null;
      if (!key) {
        while (at && keyOf(at)) { const gone = at; at = kept(at.nextSibling); if (!neu.querySelector(`[id="${CSS.escape(keyOf(gone))}"],[data-key="${CSS.escape(keyOf(gone))}"]`)) gone.remove(); }
        if (at && at.nodeName === want.nodeName) have = at;
      }
      if (have && have.nodeName === want.nodeName) {
        if (have === at) at = kept(at.nextSibling);
        else old.insertBefore(have, at);
        patch(have, want);
      } else old.insertBefore(document.importNode(want, true), at);
    }
    while (at) { const gone = at; at = kept(at.nextSibling); gone.remove(); }
  };
  const patchRows = (old, neu) => {
    const rows = new Map([...neu.children].map((row) => [keyOf(row), row]));
    for (const row of [...old.children]) {
      const want = rows.get(keyOf(row));
      if (want) { row.removeAttribute("data-gone"); patch(row, want); } else row.setAttribute("data-gone", "");
      rows.delete(keyOf(row));
    }
    const news = one(".news");
    if (!news) return;
    news.hidden = rows.size === 0;
    one("[data-new]", news).textContent = rows.size === 1 ? "1 new task matches" : `${rows.size} new tasks match`;
  };

  // Reading the page again.
  let state = "live", held = false, showAll = false, reading = false, again = false, waits = 0, last = 0, since = Date.now();
  const sign = one("#live");
  const say = (kind, words) => {
    if (!sign || sign.dataset.words === words) return;
    sign.dataset.words = words;
    sign.className = `live ${kind}`;
    one("span", sign).textContent = words;
  };
  const show = () => {
    if (state === "lost") say("held", `Reconnecting. What you see is from ${clock(since)}`);
    else if (state === "away") say("failed", `The database does not answer. What you see is from ${clock(since)}`);
    else if (held) say("pending", waits ? `Held still, ${waits} ${waits === 1 ? "change waits" : "changes wait"}` : "Held still");
    else say("completed", "Live");
  };
  const read = async () => {
    if (reading) { again = true; return; }
    reading = true;
    again = false;
    const began = Date.now();
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html", "x-kinfolk-live": "1" }, cache: "no-store" });
      if (answer.redirected && new URL(answer.url).pathname !== location.pathname) { location.href = answer.url; return; }
      if (answer.status >= 500) { state = "away"; setTimeout(read, 2000); return; }
      const text = await answer.text();
      const fresh = new DOMParser().parseFromString(text, "text/html");
      if (!one("main", fresh)) return;
      if (fresh.body.dataset.build !== document.body.dataset.build) { location.reload(); return; }
      document.title = fresh.title;
      document.body.dataset.now = fresh.body.dataset.now;
      setClock();
      since = now();
      for (const part of ["#shapes", "#pages", "main", "#foot"]) {
        const [old, neu] = [one(part), one(part, fresh)];
        if (old && neu) patch(old, neu);
      }
      if (state === "away") state = "live";
      marked();
      tick();
    } catch {
      state = "lost";
    } finally {
      reading = false;
      showAll = false;
      last = Date.now();
      show();
      pause = Math.min(10000, Math.max(250, 20 * (last - began)));
      if (again) changed();
    }
  };
  // A page that takes long is read rarely: an open page costs the server a twentieth of a core at most.
  let due = 0, pause = 250;
  const changed = () => {
    waits += 1;
    if (held || document.hidden) { show(); return; }
    waits = 0;
    clearTimeout(due);
    due = setTimeout(read, Math.max(0, last + pause - Date.now()));
  };

  // The streams of changes. When one breaks, the page says so, tries again, and reads everything once it is back.
  let streams = [], lost = false;
  const listen = (where) => {
    const stream = new EventSource(where);
    streams.push(stream);
    stream.onopen = () => { if (state === "lost") state = "live"; show(); if (lost) { lost = false; read(); } };
    stream.onerror = () => {
      lost = true;
      state = "lost";
      show();
      if (stream.readyState === EventSource.CLOSED) { streams = streams.filter((one) => one !== stream); setTimeout(listen, 2000, where); }
    };
    for (const kind of ["change", "gone"]) stream.addEventListener(kind, changed);
    stream.addEventListener("trouble", () => { state = "away"; show(); setTimeout(read, 2000); });
  };
  const listenAll = () => { for (const where of (document.body.dataset.events || "").split(" ").filter(Boolean)) listen(where); };
  const hold = () => {
    held = !held;
    const button = one("#hold");
    if (button) button.setAttribute("aria-pressed", held);
    if (!held && waits) changed();
    show();
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden && waits && !held) changed(); });
  window.addEventListener("pagehide", () => { for (const stream of streams) stream.close(); streams = []; });
  window.addEventListener("pageshow", (event) => { if (event.persisted) { lost = true; listenAll(); } });

  // Ticked rows.
  const marked = () => {
    const boxes = all("input.pick");
    const many = boxes.filter((box) => { box.closest("[data-key]").classList.toggle("picked", box.checked); return box.checked; }).length;
    const bar = one(".bulk");
    if (!bar) return;
    bar.dataset.count = many;
    one("[data-picked]", bar).textContent = `${many} selected`;
    const every = one("input.pick-all");
    if (every) { every.checked = many > 0 && many === boxes.length; every.indeterminate = many > 0 && many < boxes.length; }
  };
  const toast = (words) => {
    one(".toast")?.remove();
    const note = document.createElement("p");
    note.className = "toast";
    note.setAttribute("role", "status");
    note.textContent = words;
    document.body.append(note);
    setTimeout(() => note.remove(), 4000);
  };

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.matches("input.pick-all")) for (const each of all("input.pick")) each.checked = box.checked;
    if (box.matches("input.pick, input.pick-all")) marked();
    if (box.matches("#single-keys")) localStorage.setItem("kinfolk.keys", box.checked ? "on" : "off");
  });
  document.addEventListener("click", (event) => {
    const what = event.target.closest("[data-copy], .news, #hold, [data-unpick]");
    if (!what) return;
    if (what.id === "hold") hold();
    else if (what.matches(".news")) { showAll = true; what.hidden = true; read(); }
    else if (what.hasAttribute("data-unpick")) { for (const box of all("input.pick")) box.checked = false; marked(); }
    else navigator.clipboard?.writeText(what.dataset.copy).then(() => toast("Copied."));
  });

  // Keys. Rows are the elements with data-key that hold a link.
  const rows = () => all("main [data-key]").filter((row) => one("a[href]", row));
  const link = (row) => one("a.over", row) || one("a[href]:not(.fold)", row) || one("a[href]", row);
  const current = () => document.activeElement?.closest?.("main [data-key]");
  const step = (by) => {
    const list = rows();
    if (!list.length) return;
    const at = list.indexOf(current());
    const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.max(0, Math.min(list.length - 1, at + by))];
    link(next).focus();
    next.scrollIntoView({ block: "nearest" });
  };
  const press = (what) => (one(what, current() || document) || one(what))?.click();
  const fold = (want) => { const toggle = current() && one("a.fold", current()); if (toggle && toggle.dataset.fold === want) toggle.click(); };
  const help = async () => {
    let box = one("#keys-help");
    if (!box) {
      const answer = await fetch(`${base}/keys`);
      const text = new DOMParser().parseFromString(await answer.text(), "text/html");
      box = document.createElement("dialog");
      box.id = "keys-help";
      box.className = "card";
      box.setAttribute("aria-label", "Keys");
      box.append(document.importNode(one("#keys", text), true));
      document.body.append(box);
      keySwitch();
    }
    box.open ? box.close() : box.showModal();
  };
  const keySwitch = () => { for (const box of all("#single-keys")) box.checked = localStorage.getItem("kinfolk.keys") !== "off"; };
  const places = { n: "/", t: "/tasks", a: "/families", f: "/failures", g: "/groups", q: "/queues", w: "/workers", s: "/schedules" };
  const keys = {
    "/": () => one(".find input")?.focus(),
    j: () => step(1),
    k: () => step(-1),
    x: () => { const box = current() && one("input.pick", current()); if (box) { box.checked = !box.checked; marked(); } },
    ".": () => press(".news"),
    p: hold,
    1: () => press("[data-view='1']"),
    2: () => press("[data-view='2']"),
    3: () => press("[data-view='3']"),
    ArrowLeft: () => fold("close"),
    ArrowRight: () => fold("open"),
    "+": () => press("[data-do='closer']"),
    "-": () => press("[data-do='wider']"),
    e: () => { const row = current(); if (row) location.href = `${link(row).href.split("#")[0]}#why`; else one("#why")?.scrollIntoView(); },
    r: () => press("[data-do='retry']"),
    c: () => press("[data-do='cancel']"),
    "?": help,
  };
  let going = 0;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea");
    if (event.key === "Escape" && typing) { event.target.blur(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("kinfolk.keys") === "off") return;
    if (event.key === "Escape") { one("[data-unpick]")?.click(); return; }
    const soon = Date.now() - going < 1500;
    going = 0;
    if (soon && places[event.key]) { location.href = base + places[event.key]; return; }
    if (event.key === "g") { going = Date.now(); return; }
    const act = keys[event.key];
    if (!act || (event.key.startsWith("Arrow") && !current())) return;
    event.preventDefault();
    act();
  });

  // A sentence about what was just done is said once.
  const address = new URL(location.href);
  if (address.searchParams.has("done")) {
    address.searchParams.delete("done");
    history.replaceState(null, "", address);
    one(".done")?.setAttribute("data-said", "1");
  }
  setClock();
  keySwitch();
  marked();
  listenAll();
  show();
  const button = one("#hold");
  if (button) button.hidden = false;
  // On a narrow page the bar scrolls: to the page that is shown.
  const bar = one("#pages"), shown = bar && one("[aria-current]", bar);
  if (shown) bar.scrollLeft = shown.offsetLeft - bar.offsetLeft - (bar.clientWidth - shown.offsetWidth) / 2;
  setInterval(tick, 1000);
  setInterval(grow, 250);
})();
