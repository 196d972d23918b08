//! Layers around attempts, and hooks that are told of errors.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinfolk::{Ctx, Ending, FailureKind, Json, Next, State, TaskError};

use crate::lab::{Lab, on_both_stores, quick};

on_both_stores!(
    layers_are_around_an_attempt_in_the_order_in_which_they_were_added,
    a_layer_may_change_how_an_attempt_ends
);

/// What was said, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn say(&self, words: impl Into<String>) {
        self.0.lock().unwrap().push(words.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// A layer that says when it begins, and how what is inside ended.
    fn layer(
        &self,
        name: &'static str,
    ) -> impl Fn(Ctx, Next) -> futures_util::future::BoxFuture<'static, Result<Ending, TaskError>> + Send + Sync + 'static
    {
        let log = self.clone();
        move |ctx, next| {
            let log = log.clone();
            Box::pin(async move {
                log.say(format!("{name} begins {}", ctx.command()));
                let ended = next.run().await;
                log.say(match &ended {
                    Ok(ending) => format!("{name} ends {:?}", ending.result().map(Json::as_str)),
                    Err(fault) => format!("{name} fails: {fault} ({})", fault.failure().kind),
                });
                ended
            })
        }
    }
}

async fn layers_are_around_an_attempt_in_the_order_in_which_they_were_added(lab: &Lab) {
    let log = Log::default();
    let worker = lab
        .worker()
        .layer(log.layer("outer"))
        .layer_for("other", log.layer("not this one"))
        .layer_for("work", log.layer("of work"))
        .layer(log.layer("inner"))
        .handler("work", |_, n: u32| async move { if n == 0 { panic!("by zero") } else { Ok(n) } })
        .start()
        .await
        .unwrap();
    let id = lab.kinfolk.enqueue("work", &7).await.unwrap().id().unwrap();
    assert_eq!(lab.ended(id).await.state, State::Completed);
    let around = |inner: &str| {
        let begin = ["outer", "of work", "inner"].map(|name| format!("{name} begins work"));
        begin.into_iter().chain(["inner", "of work", "outer"].map(|name| format!("{name} {inner}"))).collect::<Vec<_>>()
    };
    assert_eq!(log.all(), around("ends Some(\"7\")"));
    log.0.lock().unwrap().clear();
    let id = lab.kinfolk.enqueue("work", &0).max_attempts(1).await.unwrap().id().unwrap();
    assert_eq!(lab.ended(id).await.failure.unwrap().kind, FailureKind::Panic);
    assert_eq!(log.all(), around("fails: by zero (panic)"), "a panic is an error to those around it");
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_layer_may_change_how_an_attempt_ends(lab: &Lab) {
    let worker = lab
        .worker()
        .layer(|ctx: Ctx, next: Next| async move {
            match ctx.command().as_str() {
                "closed" => Err(TaskError::validation("the shop is closed")),
                _ => match next.run().await {
                    Err(fault) if fault.to_string() == "harmless" => Ending::of("all the same"),
                    ended => ended,
                },
            }
        })
        .handler("closed", |_, _: Json| async { Ok("it ran") })
        .handler(quick("harmless", 3), |_, _: Json| async { Err::<(), _>("harmless".into()) })
        .start()
        .await
        .unwrap();
    let closed = lab.enqueue("closed").await;
    assert_eq!(lab.ended(closed).await.failure.unwrap().message, "the shop is closed");
    let harmless = lab.enqueue("harmless").await;
    let harmless = lab.ended(harmless).await;
    assert_eq!((harmless.attempt, harmless.result), (1, Some(Json::of("all the same").unwrap())));
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_begins_anew_when_its_handler_is_resumed() {
    let (lab, log) = (Lab::new().await, Log::default());
    let parent = |ctx: Ctx, _: Json| async move { ctx.call::<u32>("child", &1).await };
    let worker = lab.worker().layer_for("parent", log.layer("layer")).handler("parent", parent);
    let worker = worker.handler("child", |_, n: u32| async move { Ok(n) }).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    assert_eq!(lab.ended(id).await.state, State::Completed);
    assert_eq!(log.all(), ["layer begins parent", "layer begins parent", "layer ends Some(\"1\")"]);
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_told_the_whole_error_of_every_attempt() {
    #[derive(Debug, thiserror::Error)]
    #[error("could not parse")]
    struct Unparsed(#[source] std::num::ParseIntError);

    let (lab, log) = (Lab::new().await, Log::default());
    let hook = log.clone();
    let worker = lab
        .worker()
        .on_error(move |ctx, fault| {
            let whole = fault.error().is_some_and(|error| error.is::<Unparsed>());
            let kind = fault.failure().kind;
            hook.say(format!("{} {} {} {kind} {whole}: {fault}", ctx.command(), ctx.queue(), ctx.attempt()));
        })
        .on_error(|_, _| panic!("a hook that panics disturbs nobody"))
        .handler(quick("parse", 2), |_, _: Json| async { Ok("x".parse::<u8>().map_err(Unparsed)?) })
        .handler(quick("slow", 1), |_, _: Json| async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(())
        })
        .handler("fine", |_, _: Json| async { Ok(()) })
        .start()
        .await
        .unwrap();
    for command in ["parse", "fine"] {
        let id = lab.enqueue(command).await;
        lab.ended(id).await;
    }
    let slow = lab.kinfolk.enqueue("slow", &()).timeout(Duration::from_millis(5)).await.unwrap().id().unwrap();
    lab.ended(slow).await;
    let words = "error true: could not parse: invalid digit found in string";
    let wanted = [format!("parse default 1 {words}"), format!("parse default 2 {words}")];
    let slow = "slow default 1 timeout false: the attempt ran longer than 5ms".to_owned();
    assert_eq!(log.all(), wanted.into_iter().chain([slow]).collect::<Vec<_>>());
    worker.stop().await.unwrap();
}
