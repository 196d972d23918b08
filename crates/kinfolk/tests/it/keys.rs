//! Where keys come from: said with the enqueue, derived by the typed task, inherited from the maker.

use std::time::Duration;

use kinfolk::{
    Command, Ctx, Enqueued, Error, FailureKind, GroupSpec, Groups, InputError, Json, Keys, Rejection, State, Sub, Task,
    TaskError, TaskView,
};
use serde::{Deserialize, Serialize};

use crate::lab::{Lab, noop, on_both_stores};

on_both_stores!(
    a_typed_task_derives_its_keys_and_the_draft_has_the_last_word,
    whatever_a_handler_makes_can_have_keys,
    whatever_a_handler_makes_inherits_keys_when_asked,
    a_handler_reads_the_keys_of_its_task,
    groups_are_declared_beside_the_handler_and_stay_until_others_are,
    a_key_for_an_unknown_group_is_rejected,
    a_handler_that_gives_a_key_for_an_unknown_group_is_refused,
);

#[derive(Serialize, Deserialize, Task)]
#[task(command = "process-message", output = String, groups(tenant = 20, message = 1))]
struct ProcessMessage {
    #[task(key)]
    tenant: String,
    #[task(key)]
    message: Option<String>,
}

async fn process_message(task: ProcessMessage) -> Result<String, TaskError> {
    Ok(task.tenant)
}

fn message(tenant: &str, message: Option<&str>) -> ProcessMessage {
    ProcessMessage { tenant: tenant.to_owned(), message: message.map(str::to_owned) }
}

fn keys(keys: &[(&str, &str)]) -> Keys {
    Keys::of(keys.iter().copied()).unwrap()
}

/// A command with these groups, each of one slot for a key.
fn command(name: &str, groups: &[&str]) -> Command {
    let groups = Groups::of(groups.iter().map(|group| (group, 1))).unwrap();
    Command { groups: Some(groups), ..Command::new(name.parse().unwrap()) }
}

async fn declared(lab: &Lab, name: &str) -> Option<Groups> {
    let commands = lab.store.commands().await.unwrap();
    commands.into_iter().find(|command| command.name.as_str() == name).unwrap().groups
}

async fn a_typed_task_derives_its_keys_and_the_draft_has_the_last_word(lab: &Lab) {
    lab.kinfolk.register_task::<ProcessMessage>().await.unwrap();
    assert_eq!(declared(lab, "process-message").await, ProcessMessage::command().build().unwrap().groups);
    let enqueue = lab.kinfolk.enqueue_task(&message("acme", Some("msg-1"))).await.unwrap().id().unwrap();
    assert_eq!(lab.task(enqueue).await.keys, keys(&[("message", "msg-1"), ("tenant", "acme")]));
    let some = lab.kinfolk.enqueue_task(&message("acme", None)).await.unwrap().id().unwrap();
    assert_eq!(lab.task(some).await.keys, keys(&[("tenant", "acme")]));
    let other = lab.kinfolk.enqueue_task(&message("acme", Some("msg-1"))).key("tenant", "beta").await.unwrap();
    assert_eq!(lab.task(other.id().unwrap()).await.keys, keys(&[("message", "msg-1"), ("tenant", "beta")]));
    let named =
        lab.kinfolk.enqueue("process-message", &()).keys([("tenant", "a"), ("message", "b")]).into_task().unwrap();
    assert_eq!(named.keys, keys(&[("tenant", "a"), ("message", "b")]));
    assert_eq!(lab.kinfolk.enqueue_many(&[named]).await.unwrap().len(), 1);
}

/// The children of the task that ended last, and whatever else there is, oldest first.
async fn made(lab: &Lab, command: &str) -> Vec<TaskView> {
    let command = Some(command.parse().unwrap());
    let mut tasks = lab
        .store
        .list(&kinfolk::core::inspect::Filter { command, limit: 100, ..Default::default() })
        .await
        .unwrap()
        .tasks;
    tasks.reverse();
    tasks
}

async fn whatever_a_handler_makes_can_have_keys(lab: &Lab) {
    let flow = |ctx: Ctx, _: Json| async move {
        ctx.spawn("work", "child").key("tenant", "a").await?;
        ctx.follow_up("work", "follow-up").key("tenant", "b").await?;
        ctx.enqueue("work", "task").keys([("tenant", "c"), ("message", "m")]).await?;
        ctx.call::<()>("work", "call").key("tenant", "d").await?;
        let subs = [Sub::new("work", "one").key("tenant", "e"), Sub::new("work", "two").key("message", "n")];
        ctx.fan_out::<()>(subs).key("tenant", "f").await?;
        assert_eq!(ctx.call_task(&message("g", Some("o"))).await?, "g");
        ctx.fan_out_tasks([message("h", None)]).await?;
        Ok(())
    };
    let spawner = |ctx: Ctx, _: Json| async move {
        ctx.spawn_sibling("work", "sibling").key("tenant", "s").await?;
        Ok(())
    };
    let parent = |ctx: Ctx, _: Json| async move { Ok(ctx.spawn("spawner", &()).await?) };
    let worker = lab.worker().handler("flow", flow).handler("parent", parent).handler("spawner", spawner);
    let worker = worker.handler(command("work", &["tenant", "message"]), noop).handle(process_message);
    let worker = worker.start().await.unwrap();
    for flow in [lab.enqueue("flow").await, lab.enqueue("parent").await] {
        assert_eq!(lab.ended(flow).await.state, State::Completed);
    }
    for (payload, expected) in [
        ("child", keys(&[("tenant", "a")])),
        ("follow-up", keys(&[("tenant", "b")])),
        ("task", keys(&[("message", "m"), ("tenant", "c")])),
        ("call", keys(&[("tenant", "d")])),
        ("one", keys(&[("tenant", "e")])),
        ("two", keys(&[("message", "n"), ("tenant", "f")])),
        ("sibling", keys(&[("tenant", "s")])),
    ] {
        let payload = Json::of(payload).unwrap();
        let found = made(lab, "work").await.into_iter().find(|task| task.payload == payload).unwrap();
        assert_eq!(found.keys, expected, "{payload:?}");
    }
    let typed: Vec<_> = made(lab, "process-message").await.into_iter().map(|task| task.keys).collect();
    assert_eq!(typed, [keys(&[("message", "o"), ("tenant", "g")]), keys(&[("tenant", "h")])]);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn whatever_a_handler_makes_inherits_keys_when_asked(lab: &Lab) {
    let flow = |ctx: Ctx, _: Json| async move {
        ctx.spawn("work", "child").inherit_keys().await?;
        ctx.spawn("work", "stranger").await?;
        ctx.follow_up("work", "follow-up").inherit_keys().key("tenant", "b").await?;
        ctx.enqueue("work", "task").inherit_keys().await?;
        ctx.call::<()>("work", "call").inherit_keys().await?;
        ctx.fan_out::<()>([Sub::new("work", "sub"), Sub::new("work", "own").key("tenant", "c")]).inherit_keys().await?;
        ctx.fan_out::<()>([Sub::new("work", "asks").inherit_keys(), Sub::new("work", "does not")]).await?;
        Ok(())
    };
    let worker = lab.worker().handler(command("flow", &["tenant", "region"]), flow);
    let worker = worker.handler(command("work", &["tenant", "message"]), noop).start().await.unwrap();
    let flow = lab.kinfolk.enqueue("flow", &()).keys([("tenant", "acme"), ("region", "north")]).await.unwrap();
    assert_eq!(lab.ended(flow.id().unwrap()).await.state, State::Completed);
    let acme = keys(&[("tenant", "acme")]);
    for (payload, expected) in [
        ("child", acme.clone()),
        ("stranger", Keys::new()),
        ("follow-up", keys(&[("tenant", "b")])),
        ("task", acme.clone()),
        ("call", acme.clone()),
        ("sub", acme.clone()),
        ("own", keys(&[("tenant", "c")])),
        ("asks", acme.clone()),
        ("does not", Keys::new()),
    ] {
        let payload = Json::of(payload).unwrap();
        let found = made(lab, "work").await.into_iter().find(|task| task.payload == payload).unwrap();
        assert_eq!(found.keys, expected, "{payload:?}");
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_handler_reads_the_keys_of_its_task(lab: &Lab) {
    let handler = |ctx: Ctx, _: Json| async move {
        let tenant = ctx.key("tenant").unwrap_or("nobody").to_owned();
        assert_eq!(ctx.key("two words"), None);
        Ok((ctx.keys().0.len(), tenant))
    };
    let worker = lab.worker().handler(command("work", &["tenant", "message"]), handler).start().await.unwrap();
    let with_keys = lab.kinfolk.enqueue("work", &()).keys([("tenant", "acme"), ("message", "m")]).await.unwrap();
    let answer = |task: TaskView| task.result.unwrap().to::<(usize, String)>().unwrap();
    assert_eq!(answer(lab.ended(with_keys.id().unwrap()).await), (2, "acme".to_owned()));
    assert_eq!(answer(lab.ended(lab.enqueue("work").await).await), (0, "nobody".to_owned()));
    worker.stop().await.unwrap();
}

async fn groups_are_declared_beside_the_handler_and_stay_until_others_are(lab: &Lab) {
    let patient = Command { timeout: Some(Duration::from_secs(9)), ..Command::new("work".parse().unwrap()) };
    lab.kinfolk.register(&[patient]).await.unwrap();
    let start = |groups: &'static [(&'static str, u32)]| async move {
        let worker = lab.worker().handler("work", noop).groups("work", groups.iter().copied());
        worker.start().await.unwrap().stop().await.unwrap();
    };
    start(&[("total", 5), ("tenant", 2)]).await;
    let two = Groups::total(5).and("tenant".parse().unwrap(), GroupSpec::limit(2));
    assert_eq!(declared(lab, "work").await, Some(two.clone()));
    let kept = lab.store.commands().await.unwrap();
    assert_eq!(kept[0].timeout, Some(Duration::from_secs(9)), "a handler by name changes nothing else");
    lab.worker().handler("work", noop).start().await.unwrap().stop().await.unwrap();
    assert_eq!(declared(lab, "work").await, Some(two), "a worker that says nothing leaves them");
    start(&[]).await;
    assert_eq!(declared(lab, "work").await, None);

    let nobody = lab.worker().handler("work", noop).groups("other", [("tenant", 2)]).start().await.unwrap_err();
    assert!(nobody.to_string().contains("groups of command other, which has no handler here"), "{nobody}");
    let bad = lab.worker().handler("work", noop).groups("work", [("two words", 2)]).start().await.unwrap_err();
    assert!(matches!(bad, Error::Input(InputError::Name { kind: "group", .. })), "{bad}");
    let none = lab.worker().handler("work", noop).groups("work", [("tenant", GroupSpec::default())]).start().await;
    assert!(matches!(none.unwrap_err(), Error::Input(_)));
}

async fn a_key_for_an_unknown_group_is_rejected(lab: &Lab) {
    lab.kinfolk.register(&[command("work", &["tenant"])]).await.unwrap();
    let coloured = || lab.kinfolk.enqueue("work", &()).key("tenant", "a").key("colour", "blue");
    let unknown = Rejection::UnknownGroup("colour".parse().unwrap());
    assert_eq!(coloured().try_enqueue().await.unwrap(), Enqueued::Rejected(unknown.clone()));
    let fault = coloured().await.unwrap_err();
    assert!(matches!(&fault, Error::Rejected(why) if *why == unknown), "{fault:?}");
    let good = lab.kinfolk.enqueue("work", &()).into_task().unwrap();
    let fault = lab.kinfolk.enqueue_many(&[good, coloured().into_task().unwrap()]).await.unwrap_err();
    assert!(matches!(fault, Error::Rejected(_)), "{fault:?}");
    assert!(lab.kinfolk.store().stats().await.unwrap().counts.is_empty(), "none of them is made");
    for (group, key) in [("two words", "a"), ("tenant", ""), ("total", "a"), ("tenant", &"x".repeat(201))] {
        let fault = lab.kinfolk.enqueue("work", &()).key(group, key).await.unwrap_err();
        assert!(matches!(fault, Error::Input(_)), "{group} {key}: {fault}");
    }
    let crowded = (0..17).map(|n| (format!("group-{n}"), "x"));
    assert!(matches!(
        lab.kinfolk.enqueue("work", &()).keys(crowded).await,
        Err(Error::Input(InputError::Batch { .. }))
    ));
}

async fn a_handler_that_gives_a_key_for_an_unknown_group_is_refused(lab: &Lab) {
    let parent = |ctx: Ctx, (group, key): (String, String)| async move {
        ctx.spawn("work", &()).key(group, key).await?;
        Ok(())
    };
    let flow = |ctx: Ctx, (group, key): (String, String)| async move {
        ctx.fan_out::<()>([Sub::new("work", &())]).key(group, key).await?;
        Ok(())
    };
    let once = |name| crate::lab::quick(name, 1);
    let worker = lab.worker().handler(once("parent"), parent).handler(once("flow"), flow);
    let worker = worker.handler(command("work", &["tenant"]), noop).start().await.unwrap();
    for name in ["parent", "flow"] {
        for (group, key) in [("colour", "blue"), ("two words", "x"), ("tenant", "")] {
            let id = lab.kinfolk.enqueue(name, &(group, key)).await.unwrap().id().unwrap();
            let task = lab.ended(id).await;
            let failure = task.failure.unwrap();
            assert_eq!(task.state, State::Failed, "{name}, {group}: {failure:?}");
            assert!(group != "colour" || failure.kind == FailureKind::Refused, "{failure:?}");
            assert!(failure.message.contains("group"), "{failure:?}");
        }
    }
    worker.stop().await.unwrap();
    lab.check().await;
}
