// Shows what is going on in the register, live: statuses and stages come from the streams of the server. When a derivation has ended, what this
// page keeps of the derived tables is out of date, and is fetched anew; here that is said, with the time.

const STAGES = ["collect_changes", "derive_statistical_unit", "derive_statistical_unit_continue", "statistical_unit_flush_staging", "derive_reports",
    "derive_statistical_history", "derive_statistical_unit_facet", "statistical_unit_facet_reduce", "derive_statistical_history_facet"];
const WORDS = { is_importing: "importing", is_deriving_statistical_units: "deriving units", is_deriving_reports: "deriving reports" };

const by = (id) => document.getElementById(id);
const text = (tag, words) => Object.assign(document.createElement(tag), { textContent: words });

// When each status turned last, as far as this page knows.
const turned = new Map();

function showStatuses(statuses) {
    const known = statuses.filter(({ name }) => name in WORDS);
    by("statuses").replaceChildren(...known.map(({ name, active }) => {
        const item = text("li", `${WORDS[name]}: ${active ? "active" : "idle"}`);
        item.className = active ? "active" : "";
        return item;
    }));
    for (const { name, active, changed_at } of known) {
        // A derivation that began and ended between two looks has moved the time too.
        if (turned.has(name) && turned.get(name) !== changed_at && !active && name !== "is_importing") {
            by("caches").textContent = `Invalidated at ${new Date(changed_at).toLocaleTimeString()}: ${WORDS[name]} has ended.`;
        }
        turned.set(name, changed_at);
    }
}

async function showStages(tasks) {
    const rows = await Promise.all(STAGES.map(async (stage) => {
        const task = tasks.find(({ command }) => command === stage);
        const row = document.createElement("tr");
        let children = "";
        if (task && task.state !== "pending") {
            const answer = await fetch(`../api/v1/families/${task.id}/progress`);
            const { family } = answer.ok ? await answer.json() : { family: { total: 0 } };
            children = family.total > 0 ? `${family.completed} of ${family.total}` : "";
        }
        row.append(text("td", stage), text("td", task ? task.state : "–"), text("td", children));
        return row;
    }));
    by("stages").replaceChildren(...rows);
}

function follow(address, show) {
    const stream = new EventSource(address);
    stream.addEventListener("change", ({ data }) => show(JSON.parse(data)));
    stream.addEventListener("open", () => { by("connection").textContent = "Live"; });
    stream.addEventListener("error", () => { by("connection").textContent = "The server is away; this is how it was."; });
}

follow("../api/v1/live/statuses", (data) => showStatuses(data.statuses ?? data));
follow("../api/v1/live/tasks?queue=analytics&roots=true&limit=30", (data) => showStages(data.tasks ?? data));
