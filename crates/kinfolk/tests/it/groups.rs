//! How many run at once under a key, seen from a worker: exact, woken at once, changed at run time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use kinfolk::{
    Command, Ctx, GroupRef, GroupSpec, Groups, Json, KeyFilter, NewTask, Policy, Reason, Setting, State, TaskError,
    TaskId, WorkerBuilder,
};
use tokio::sync::Semaphore;

use crate::flaky::{Looks, NO_POLL};
use crate::lab::{Lab, noop, on_both_stores, within};

on_both_stores!(
    a_task_starts_when_all_its_keys_have_room,
    no_limit_is_passed_in_a_crowd,
    a_settled_task_lets_the_next_one_start_without_a_poll,
    a_suspended_handler_gives_its_slots_back,
    a_group_that_is_held_covers_the_whole_family,
    limits_are_changed_while_tasks_run,
    a_removed_group_holds_nobody_up,
    tenants_take_turns_on_a_fair_queue,
    an_explanation_names_all_that_holds_a_task,
);

/// Polls that grow further and further apart.
const NEVER: Duration = Duration::from_secs(600);

/// Handlers that wait until they are let through, and counts of who is inside.
#[derive(Clone)]
struct Door {
    open: Arc<Semaphore>,
    inside: Arc<Mutex<HashMap<String, (usize, usize)>>>,
}

impl Door {
    fn closed() -> Self {
        Self { open: Arc::new(Semaphore::new(0)), inside: Arc::default() }
    }

    /// Stays inside under the names it is given, until the door lets it through.
    fn handler(
        &self,
    ) -> impl Fn(Ctx, Vec<String>) -> BoxFuture<'static, Result<(), TaskError>> + Send + Sync + 'static {
        let door = self.clone();
        move |_, names| Box::pin(door.clone().pass(names))
    }

    async fn pass(self, names: Vec<String>) -> Result<(), TaskError> {
        self.count(&names, |(now, most)| (now + 1, most.max(now + 1)));
        self.open.acquire().await?.forget();
        tokio::task::yield_now().await;
        self.count(&names, |(now, most)| (now - 1, most));
        Ok(())
    }

    fn count(&self, names: &[String], change: impl Fn((usize, usize)) -> (usize, usize)) {
        let mut inside = self.inside.lock().unwrap();
        for name in names {
            let counts = inside.entry(name.clone()).or_default();
            *counts = change(*counts);
        }
    }

    /// The most that were ever inside at once, by name.
    fn most(&self) -> HashMap<String, usize> {
        self.inside.lock().unwrap().iter().map(|(name, (_, most))| (name.clone(), *most)).collect()
    }

    fn let_through(&self, tasks: usize) {
        self.open.add_permits(tasks);
    }
}

fn group(name: &str) -> GroupRef {
    GroupRef::of("process-message".parse().unwrap(), name.parse().unwrap())
}

fn limit(limit: u32) -> Setting {
    Setting { limit: Some(limit), rate: None }
}

/// A worker that soon hardly polls any more.
fn worker(lab: &Lab, door: &Door) -> WorkerBuilder {
    let worker = lab.worker().poll(NEVER).handler("process-message", door.handler());
    worker.groups("process-message", [("tenant", 20), ("message", 1)])
}

/// A task under these keys, with their values as its payload.
async fn enqueue(lab: &Lab, tenant: &str, message: &str) -> TaskId {
    let task = lab.kinfolk.enqueue("process-message", &[tenant, message]);
    task.key("tenant", tenant).key("message", message).await.unwrap().id().unwrap()
}

async fn reasons(lab: &Lab, id: TaskId) -> Vec<Reason> {
    lab.kinfolk.explain(id).await.unwrap().reasons
}

/// Waits until this many of these tasks are in this state.
async fn count_in(lab: &Lab, ids: &[TaskId], state: State, count: usize) {
    within(async {
        loop {
            let mut found = 0;
            for id in ids {
                found += usize::from(lab.task(*id).await.state == state);
            }
            if found == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

async fn a_task_starts_when_all_its_keys_have_room(lab: &Lab) {
    let door = Door::closed();
    let worker = worker(lab, &door).start().await.unwrap();
    let first = enqueue(lab, "acme", "msg-1").await;
    let second = enqueue(lab, "acme", "msg-2").await;
    let same = enqueue(lab, "beta", "msg-1").await;
    let free = lab.kinfolk.enqueue("process-message", &["acme"]).key("tenant", "acme").await.unwrap().id().unwrap();
    let without_keys = lab.kinfolk.enqueue("process-message", &Vec::<String>::new()).await.unwrap().id().unwrap();
    for id in [first, second, free, without_keys] {
        lab.in_state(id, State::Running).await;
    }
    let full =
        Reason::KeyFull { group: group("message"), key: "msg-1".to_owned(), limit: 1, held: 1, holders: vec![first] };
    assert_eq!(reasons(lab, same).await, std::slice::from_ref(&full));
    assert_eq!(
        full.to_string(),
        format!("message of process-message, key \"msg-1\", has 1 of 1 slots taken, by {first}")
    );
    assert_eq!(reasons(lab, first).await, []);
    door.let_through(4);
    lab.ended(first).await;
    door.let_through(1);
    assert_eq!(lab.ended(same).await.state, State::Completed);
    within(worker.wait_idle()).await;
    assert_eq!(lab.kinfolk.keys(&KeyFilter { limit: 100, ..KeyFilter::default() }).await.unwrap(), []);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn no_limit_is_passed_in_a_crowd(lab: &Lab) {
    const TASKS: usize = 400;
    let door = Door::closed();
    door.let_through(TASKS);
    let builder = || worker(lab, &door).groups("process-message", [("tenant", 3), ("message", 1), ("total", 10)]);
    let workers = [builder().start().await.unwrap(), builder().start().await.unwrap()];
    let name = "process-message";
    let tasks: Vec<NewTask> = (0..TASKS)
        .map(|n| {
            let (tenant, message) = (format!("tenant {}", n * n % 7), format!("message {}", n * 31 % 40));
            let task = lab.kinfolk.enqueue(name, &[tenant.as_str(), message.as_str(), "all"]);
            task.key("tenant", tenant).key("message", message).into_task().unwrap()
        })
        .collect();
    let answers = lab.kinfolk.enqueue_many(&tasks).await.unwrap();
    for answer in answers {
        assert_eq!(lab.ended(answer.id().unwrap()).await.state, State::Completed);
    }
    for (name, most) in door.most() {
        let limit = match name.split(' ').next().unwrap() {
            "tenant" => 3,
            "message" => 1,
            _ => 10,
        };
        assert!(most <= limit, "{most} of {name} at once");
    }
    for worker in workers {
        worker.stop().await.unwrap();
    }
    lab.check().await;
}

async fn a_settled_task_lets_the_next_one_start_without_a_poll(lab: &Lab) {
    let (door, (watched, looks)) = (Door::closed(), Looks::at(&lab.store));
    let worker = watched.worker().poll(NEVER).handler("process-message", door.handler());
    let worker = worker.groups("process-message", [("message", 1)]).start().await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..5 {
        let task = lab.kinfolk.enqueue("process-message", &["msg-1"]).key("message", "msg-1");
        ids.push(task.await.unwrap().id().unwrap());
    }
    lab.in_state(ids[0], State::Running).await;
    looks.are_rare().await;
    let begun = Instant::now();
    door.let_through(5);
    for id in ids {
        lab.ended(id).await;
    }
    assert!(begun.elapsed() < NO_POLL, "{:?}", begun.elapsed());
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_suspended_handler_gives_its_slots_back(lab: &Lab) {
    // Every parent waits for a child under its own key: with slots kept while they wait, none would ever end.
    let parent = |ctx: Ctx, _: Json| async move { ctx.call::<()>("work", &true).inherit_keys().await };
    let spawner = |ctx: Ctx, _: Json| async move { Ok(ctx.spawn("work", &()).inherit_keys().await?) };
    let groups = [("tenant", GroupSpec::limit(2).shared())];
    let worker = lab.worker().poll(NEVER).handler("parent", parent).handler("spawner", spawner).handler("work", noop);
    let worker = worker.groups("parent", groups.clone()).groups("spawner", groups.clone()).groups("work", groups);
    let worker = worker.start().await.unwrap();
    let mut ids = Vec::new();
    for name in ["parent", "spawner"].repeat(10) {
        ids.push(lab.kinfolk.enqueue(name, &()).key("tenant", "acme").await.unwrap().id().unwrap());
    }
    for id in ids {
        assert_eq!(lab.ended(id).await.state, State::Completed);
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_group_that_is_held_covers_the_whole_family(lab: &Lab) {
    let door = Door::closed();
    let parent = |ctx: Ctx, _: Json| async move {
        for _ in 0..2 {
            ctx.spawn("work", &["inside"]).inherit_keys().await?;
        }
        Ok(())
    };
    let groups = [("tenant", GroupSpec::limit(1).hold().shared())];
    let worker = lab.worker().poll(NEVER).handler("parent", parent).handler("work", door.handler());
    let worker = worker.groups("parent", groups.clone()).groups("work", groups).start().await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(lab.kinfolk.enqueue("parent", &()).key("tenant", "acme").await.unwrap().id().unwrap());
    }
    for id in ids {
        // Both children run beside each other, under the one slot of their parent; the next family waits for it.
        lab.in_state(id, State::Waiting).await;
        let children = lab.kinfolk.children(id, 0, 10).await.unwrap();
        for child in children {
            lab.in_state(child.id, State::Running).await;
        }
        door.let_through(2);
        assert_eq!(lab.ended(id).await.state, State::Completed);
    }
    assert_eq!(door.most()["inside"], 2);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn limits_are_changed_while_tasks_run(lab: &Lab) {
    let door = Door::closed();
    let worker = worker(lab, &door).start().await.unwrap();
    lab.kinfolk.set_group(&group("tenant"), None, &limit(2)).await.unwrap();
    let mut ids = Vec::new();
    for n in 0..10 {
        ids.push(enqueue(lab, "acme", &format!("msg-{n}")).await);
    }
    count_in(lab, &ids, State::Running, 2).await;
    lab.kinfolk.set_group(&group("tenant"), Some("acme"), &limit(5)).await.unwrap();
    count_in(lab, &ids, State::Running, 5).await;
    let view = lab.kinfolk.groups().await.unwrap().into_iter().find(|view| view.group == group("tenant")).unwrap();
    assert_eq!((view.declared.limit, view.set, view.keys["acme"]), (Some(20), limit(2), limit(5)));

    // Down: nothing is interrupted, and nothing starts until there are fewer.
    lab.kinfolk.set_group(&group("tenant"), Some("acme"), &limit(1)).await.unwrap();
    count_in(lab, &ids, State::Running, 5).await;
    door.let_through(4);
    count_in(lab, &ids, State::Completed, 4).await;
    count_in(lab, &ids, State::Running, 1).await;
    let blocked = reasons(lab, ids[9]).await;
    assert!(matches!(blocked[..], [Reason::KeyFull { limit: 1, held: 1, .. }]), "{blocked:?}");
    lab.kinfolk.set_group(&group("tenant"), Some("acme"), &Setting::default()).await.unwrap();
    count_in(lab, &ids, State::Running, 2).await;
    door.let_through(6);
    for id in ids {
        lab.ended(id).await;
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_removed_group_holds_nobody_up(lab: &Lab) {
    let door = Door::closed();
    let worker = worker(lab, &door).start().await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(enqueue(lab, "acme", "msg-1").await);
    }
    count_in(lab, &ids, State::Running, 1).await;
    lab.kinfolk.remove_group(&group("message")).await.unwrap();
    count_in(lab, &ids, State::Running, 5).await;
    door.let_through(5);
    for id in ids {
        lab.ended(id).await;
    }
    let fault = lab.kinfolk.remove_group(&group("message")).await.unwrap_err();
    assert_eq!(fault.code(), "not_found");
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn tenants_take_turns_on_a_fair_queue(lab: &Lab) {
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&order);
    let handler = move |_: Ctx, tenant: String| {
        seen.lock().unwrap().push(tenant);
        std::future::ready(Ok(()))
    };
    let worker = lab.worker().queue("default", 1).handler("work", handler);
    let groups = Some(Groups::of([("tenant", 50)]).unwrap());
    lab.kinfolk.register(&[Command { groups, ..Command::new("work".parse().unwrap()) }]).await.unwrap();
    let fair = Policy { fair: Some("tenant".parse().unwrap()), ..Policy::default() };
    lab.kinfolk.set_queue(&"default".parse().unwrap(), &fair).await.unwrap();
    for tenant in ["large"; 20].into_iter().chain(["small"; 3]) {
        lab.kinfolk.enqueue("work", tenant).key("tenant", tenant).await.unwrap().id().unwrap();
    }
    let worker = worker.start().await.unwrap();
    within(worker.wait_idle()).await;
    let order = order.lock().unwrap().clone();
    let last = order.iter().rposition(|tenant| tenant == "small").unwrap();
    assert!(order.len() == 23 && last <= 6, "the small tenant takes turns with the large one: {order:?}");
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn an_explanation_names_all_that_holds_a_task(lab: &Lab) {
    let door = Door::closed();
    let worker = worker(lab, &door).groups("process-message", [("tenant", 1), ("message", 1)]).start().await.unwrap();
    let first = enqueue(lab, "acme", "msg-1").await;
    lab.in_state(first, State::Running).await;
    lab.kinfolk.pause(&"default".parse().unwrap(), Some("Ada")).await.unwrap();
    let held = enqueue(lab, "acme", "msg-1").await;
    let found = reasons(lab, held).await;
    assert_eq!(found.iter().map(Reason::word).collect::<Vec<_>>(), ["paused", "key_full", "key_full"]);
    assert!(matches!(&found[0], Reason::Paused { by: Some(by), .. } if by == "Ada"));
    door.let_through(2);
    lab.ended(first).await;
    assert_eq!(reasons(lab, held).await.iter().map(Reason::word).collect::<Vec<_>>(), ["paused"]);
    lab.kinfolk.resume(&"default".parse().unwrap()).await.unwrap();
    assert_eq!(lab.ended(held).await.state, State::Completed);
    let gone = lab.kinfolk.explain(TaskId(999_999)).await.unwrap_err();
    assert_eq!(gone.code(), "not_found");
    worker.stop().await.unwrap();
    lab.check().await;
}
