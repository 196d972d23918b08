//! Looking: one task, pages of tasks, counts, health.

use std::time::Duration;

use kinfolk_core::inspect::{Count, Filter, Health};
use kinfolk_core::limits::{LOOK_MAX, PAGE_MAX};
use kinfolk_core::store::WakeSource;
use kinfolk_core::{Command, LabelPath, NewTask, Outcome, Settled, State, TaskId, Wake};

use crate::family::children;
use crate::world::{LEASE, World, command, json, later, new_task, plain_command, queue_name, secs, worker_spec};

async fn found(w: &World, filter: Filter) -> Vec<TaskId> {
    w.store.list(&Filter { limit: 100, ..filter }).await.unwrap().tasks.into_iter().map(|task| task.id).collect()
}

/// A listing shows tasks newest first, each as it is shown alone.
pub async fn a_listing_is_newest_first(w: &World) {
    let (first, second) = (w.completed().await, w.failed().await);
    let third = w.create(later(60)).await;
    let page = w.store.list(&Filter { limit: 10, ..Filter::default() }).await.unwrap();
    assert_eq!(page.next, None);
    assert_eq!(page.tasks, [w.get(third).await, w.get(second).await, w.get(first).await]);
}

/// Filters for state, command and queue narrow a listing, alone and together.
pub async fn filters_narrow_a_listing(w: &World) {
    let (mail, report, export) = (w.enqueue("mail").await, w.enqueue("report").await, w.enqueue("export").await);
    w.store.cancel(report).await.unwrap();
    let all = Filter::default();
    assert_eq!(found(w, Filter { state: vec![State::Pending], ..all.clone() }).await, [export, mail]);
    assert_eq!(
        found(w, Filter { state: vec![State::Cancelled, State::Pending], ..all.clone() }).await,
        [export, report, mail]
    );
    assert_eq!(found(w, Filter { command: Some(command("report")), ..all.clone() }).await, [report]);
    assert_eq!(found(w, Filter { queue: Some(queue_name("default")), ..all.clone() }).await, [report, mail]);
    let both = Filter { queue: Some(queue_name("default")), state: vec![State::Cancelled], ..all.clone() };
    assert_eq!(found(w, both).await, [report]);
    assert_eq!(found(w, Filter { command: Some(command("nobody")), ..all.clone() }).await, []);
    assert_eq!(found(w, Filter { queue: Some(queue_name("nowhere")), ..all }).await, []);
}

/// Pages follow each other without gap or repetition, also when tasks are added meanwhile.
pub async fn pages_follow_each_other_without_gap(w: &World) {
    let made = w.enqueue_many("mail", 25).await;
    let mut filter = Filter { limit: 10, ..Filter::default() };
    let mut seen = Vec::new();
    loop {
        let page = w.store.list(&filter).await.unwrap();
        seen.extend(page.tasks.iter().map(|task| task.id));
        w.enqueue("mail").await;
        match page.next {
            Some(next) => {
                assert_eq!((page.tasks.len(), Some(next)), (10, page.tasks.last().map(|task| task.id)));
                filter.before = Some(next);
            }
            None => break,
        }
    }
    assert_eq!(seen, made.into_iter().rev().collect::<Vec<_>>());
}

/// A full last page says that nothing follows.
pub async fn a_full_last_page_has_no_next(w: &World) {
    w.enqueue_many("mail", 10).await;
    let page = w.store.list(&Filter { limit: 10, ..Filter::default() }).await.unwrap();
    assert_eq!((page.tasks.len(), page.next), (10, None));
}

/// A page has at least one task and at most as many as a page may have, whatever is asked for.
pub async fn the_size_of_a_page_has_bounds(w: &World) {
    w.enqueue_many("mail", PAGE_MAX + 5).await;
    for (limit, size) in [(0, 1), (usize::MAX, PAGE_MAX)] {
        let page = w.store.list(&Filter { limit, ..Filter::default() }).await.unwrap();
        assert_eq!(page.tasks.len(), size);
        assert!(page.next.is_some());
    }
}

/// What does not exist is `None`, has no attempts, and is not before anything.
pub async fn what_does_not_exist_is_none(w: &World) {
    for id in [TaskId(987_654_321), TaskId(0), TaskId(-5), TaskId(i64::MAX)] {
        assert_eq!(w.store.task(id).await.unwrap(), None);
        assert_eq!(w.store.attempts(id).await.unwrap(), []);
    }
    assert_eq!(found(w, Filter { before: Some(TaskId(i64::MIN)), ..Filter::default() }).await, []);
    assert!(w.store.task(TaskId(1)).await.is_ok());
}

/// Counts are by queue, command and state, sorted, and only of what exists.
pub async fn counts_are_by_queue_command_and_state(w: &World) {
    let stats = w.store.stats().await.unwrap();
    assert_eq!((stats.counts.len(), stats.oldest_open.len(), stats.workers, stats.now), (0, 0, 0, w.now()));
    w.completed().await;
    w.enqueue_many("mail", 3).await;
    w.enqueue("export").await;
    w.create(NewTask { queue: Some(queue_name("bulk")), ..new_task("mail") }).await;
    let count = |queue, name, state, tasks| Count { queue: queue_name(queue), command: command(name), state, tasks };
    let stats = w.store.stats().await.unwrap();
    assert_eq!(
        stats.counts,
        [
            count("bulk", "export", State::Pending, 1),
            count("bulk", "mail", State::Pending, 1),
            count("default", "mail", State::Pending, 3),
            count("default", "mail", State::Completed, 1),
        ]
    );
    assert_eq!(stats.workers, 1);
}

/// Of what has ended, counts see the newest tasks, and the failures that came last; they say of which states there are more.
pub async fn counts_of_what_has_ended_have_a_bound(w: &World) {
    w.completed().await;
    w.failed().await;
    assert_eq!(w.store.stats().await.unwrap().more, []);
    w.enqueue_many("mail", LOOK_MAX).await;
    let stats = w.store.stats().await.unwrap();
    let counted: Vec<_> = stats.counts.iter().map(|count| (count.state, count.tasks)).collect();
    assert_eq!(counted, [(State::Pending, LOOK_MAX as u64), (State::Failed, 1)]);
    assert_eq!(stats.more, [State::Completed]);
}

/// Of what is open, counts see so many tasks of each command on each queue, whatever keeps them; they say that there are more.
pub async fn counts_of_what_is_open_have_a_bound(w: &World) {
    w.enqueue_many("export", 3).await;
    w.enqueue_many("mail", LOOK_MAX - 1).await;
    w.create(later(3_600)).await;
    let counted = async || {
        let stats = w.store.stats().await.unwrap();
        let counted: Vec<_> = stats.counts.iter().map(|count| (count.command.clone(), count.tasks)).collect();
        (counted, stats.more.contains(&State::Pending))
    };
    let full = vec![(command("export"), 3), (command("mail"), LOOK_MAX as u64)];
    assert_eq!(counted().await, (full.clone(), false));
    w.create(later(3_600)).await;
    assert_eq!(counted().await, (full, true), "what is not due is pending too");
}

/// Fan-outs are active while their task waits for open children, and so are the families that have one.
pub async fn active_fan_outs_and_families_are_counted(w: &World) {
    let active = async || {
        let stats = w.store.stats().await.unwrap();
        (stats.fan_outs, stats.families)
    };
    assert_eq!(active().await, (0, 0));
    let (_, kids) = w.parent_of(2).await;
    let (_, others) = w.parent_of(1).await;
    assert_eq!(active().await, (2, 2));
    let first = w.start(kids[0]).await;
    assert_eq!(w.leave_behind(&first, children(1)).await, Settled::Recorded(State::Waiting));
    assert_eq!(active().await, (3, 2), "a fan-out below another is of the same family");
    w.work(kids[1], Outcome::Done(None)).await;
    w.work(others[0], Outcome::Done(None)).await;
    assert_eq!(active().await, (2, 1));
    w.work(w.kids(kids[0]).await[0], Outcome::Done(None)).await;
    assert_eq!(active().await, (0, 0));
}

/// The head of each line is shown with the moment since which it stands there; tasks for later are not in line.
pub async fn the_head_of_each_line_is_shown(w: &World) {
    let start = w.now();
    w.create(later(600)).await;
    w.enqueue("mail").await;
    w.advance(5).await;
    w.create(NewTask { priority: Some(-1), ..new_task("mail") }).await;
    w.enqueue("export").await;
    let heads = w.store.stats().await.unwrap().oldest_open;
    assert_eq!(heads, [(queue_name("bulk"), w.now()), (queue_name("default"), w.now())], "by priority, then position");
    let worker = w.worker().await;
    w.take(worker).await;
    assert_eq!(w.store.stats().await.unwrap().oldest_open[1], (queue_name("default"), start));
}

/// Only workers with a live lease count as workers.
pub async fn only_live_workers_count(w: &World) {
    w.worker().await;
    w.advance(30).await;
    w.worker().await;
    assert_eq!(w.store.stats().await.unwrap().workers, 2);
    w.advance(1).await;
    assert_eq!(w.store.stats().await.unwrap().workers, 1);
}

/// Commands are shown as they were registered, by name.
pub async fn commands_are_shown_as_registered(w: &World) {
    let unusual = kinfolk_core::Command {
        queue: queue_name("bulk"),
        priority: -7,
        timeout: Some(Duration::from_millis(1_500)),
        retry: kinfolk_core::RetryPolicy {
            max_attempts: Some(1_000),
            base_ms: 0,
            cap_ms: u32::MAX,
            jitter_pct: 100,
            max_strikes: 1_000,
        },
        label: Some("order.id".parse().unwrap()),
        ..kinfolk_core::Command::new(command("a.b/c:d-e_f"))
    };
    w.store.register(std::slice::from_ref(&unusual)).await.unwrap();
    let commands = w.store.commands().await.unwrap();
    assert_eq!(commands[0], unusual);
    assert!(commands.is_sorted_by(|a, b| a.name < b.name));
    assert_eq!(commands.len(), 4);
}

/// The label of a task is what its payload has at the path that its command names, from the moment at which it names one;
/// who names none leaves the path that is known.
pub async fn a_label_is_read_from_the_payload(w: &World) {
    let task = w.create(NewTask { payload: json(r#"{"to":{"name":"Ann"}}"#), ..new_task("mail") }).await;
    let long = json(&format!(r#"{{"body":"{}","to":{{"name":7}}}}"#, "x".repeat(5_000)));
    let large = w.create(NewTask { payload: long, ..new_task("mail") }).await;
    let bare = w.enqueue("mail").await;
    assert_eq!(w.get(task).await.label(), None);
    let path = |path: &str| Some(path.parse::<LabelPath>().unwrap());
    for label in [path("to.name"), None] {
        w.store.register(&[Command { label, ..plain_command("mail") }]).await.unwrap();
        let shown = w.store.list(&Filter { limit: 10, ..Filter::default() }).await.unwrap().tasks;
        let labels: Vec<_> = shown.iter().map(|task| (task.id, task.label())).collect();
        assert_eq!(labels, [(bare, None), (large, Some("7".to_owned())), (task, Some("Ann".to_owned()))]);
        assert_eq!(w.get(large).await.label().as_deref(), Some("7"));
    }
    w.store.register(&[Command { label: path(""), ..plain_command("mail") }]).await.unwrap();
    assert_eq!(w.get(task).await.label_path, None);
}

/// Names sort by their bytes, in every store and every locale.
pub async fn names_sort_by_their_bytes(w: &World) {
    for name in ["b", "B", "a", "A", "a-b", "a_b", "a.b", "aB", "ab"] {
        w.store.set_queue(&queue_name(name), &kinfolk_core::Policy::default()).await.unwrap();
    }
    let names: Vec<_> = w.store.queues().await.unwrap().into_iter().map(|queue| queue.name.to_string()).collect();
    assert!(names.is_sorted_by(|a, b| a.as_bytes() < b.as_bytes()), "{names:?}");
}

/// Every process reads the same clock and sees the same.
pub async fn every_process_sees_the_same(w: &World) {
    w.advance(77).await;
    let id = w.failed().await;
    let elsewhere = w.another().await;
    assert_eq!(elsewhere.now().await.unwrap(), w.now());
    assert_eq!(w.store.now().await.unwrap(), w.now());
    assert_eq!(elsewhere.task(id).await.unwrap(), Some(w.get(id).await));
    assert_eq!(elsewhere.stats().await.unwrap(), w.store.stats().await.unwrap());
}

/// The doctor answers, and for everything that is not well it says what to do.
pub async fn the_doctor_always_names_a_remedy(w: &World) {
    w.running().await;
    for finding in w.store.doctor().await.unwrap() {
        assert!(finding.health == Health::Good || !finding.remedy.is_empty(), "{finding:?}");
        assert!(!finding.subject.is_empty() && !finding.found.is_empty(), "{finding:?}");
    }
}

/// The doctor names the commands of tasks that may run and that no live worker handles. A task that is not due is none of them.
pub async fn the_doctor_names_what_may_run_and_nobody_handles(w: &World) {
    let told = async || {
        let findings = w.store.doctor().await.unwrap();
        let finding = findings.into_iter().find(|finding| finding.subject == "handlers").unwrap();
        (finding.health, finding.found)
    };
    let well = (Health::Good, "every task that may run has a live worker".to_owned());
    w.create(later(60)).await;
    assert_eq!(told().await, well, "it is not due");
    w.enqueue("report").await;
    assert_eq!(told().await, (Health::Warning, "no live worker handles report on default".to_owned()));
    w.advance(61).await;
    let both = "no live worker handles mail on default, report on default";
    assert_eq!(told().await, (Health::Warning, both.to_owned()), "a due task that was not opened yet");
    w.worker().await;
    assert_eq!(told().await, well);
    w.advance(31).await;
    assert_eq!(told().await, (Health::Warning, both.to_owned()), "the lease of the worker has ended");
}

pub(super) async fn wake(source: &mut dyn WakeSource, wanted: impl Fn(&Wake) -> bool) {
    let wait = async { while !wanted(&source.next().await) {} };
    tokio::time::timeout(Duration::from_secs(120), wait).await.expect("a wake-up within two minutes");
}

/// A worker that waits is woken by a task on its queue, and by a request to cancel what it runs; the model, which has no
/// wake-ups to give, says so.
pub async fn a_waiting_worker_is_woken(w: &World) {
    let spec = worker_spec(LEASE);
    w.store.register_worker(&spec).await.unwrap();
    let Some(mut wakes) = w.store.wakes(spec.id, &spec.queues).await.unwrap() else {
        assert_eq!(w.store.kind(), "model", "a real store wakes its workers");
        return;
    };
    assert!(w.claim(spec.id, 1).await.is_empty());
    let (elsewhere, queue) = (w.another().await, queue_name("default"));
    elsewhere.enqueue(&[new_task("mail")]).await.unwrap();
    wake(&mut *wakes, |wake| matches!(wake, Wake::All) || *wake == Wake::Queue(queue.clone())).await;
    let task = w.take(spec.id).await;
    elsewhere.cancel(task.id).await.unwrap();
    wake(&mut *wakes, |wake| matches!(wake, Wake::All | Wake::Cancel)).await;
    assert_eq!(w.store.heartbeat(spec.id).await.unwrap().cancel, [(task.id, task.token)]);
}

/// A delay is kept to the microsecond.
pub async fn moments_are_kept_to_the_microsecond(w: &World) {
    w.advance_by(Duration::from_micros(1)).await;
    let id = w.create(NewTask { due: kinfolk_core::Due::After(Duration::from_micros(3)), ..new_task("mail") }).await;
    let task = w.get(id).await;
    assert_eq!(task.due.as_micros(), w.now().as_micros() + 3);
    assert_eq!(task.created_at, w.now());
    assert_ne!(task.created_at, w.now().plus(secs(1)));
}
