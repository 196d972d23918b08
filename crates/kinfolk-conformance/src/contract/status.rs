//! Statuses: whether anything is going on among a set of commands.

use kinfolk_core::limits::STATUS_COMMANDS_MAX;
use kinfolk_core::{CommandName, Outcome, Retry, Status, StoreError, When};

use crate::family::{children, follow_up, status_name};
use crate::world::{World, command, failed, later, new_task, plain_command, secs};

fn mail() -> [CommandName; 1] {
    [command("mail")]
}

/// Active is what runs, waits, is ready, or is tried again; not what is scheduled for later, nor what has ended.
pub async fn active_is_what_is_at_work_or_ready(w: &World) {
    let active = async || w.store.is_active(&mail()).await.unwrap();
    assert!(!active().await);
    let scheduled = w.create(later(50)).await;
    assert!(!active().await, "scheduled for later");
    w.store.cancel(scheduled).await.unwrap();
    let id = w.enqueue("mail").await;
    assert!(active().await, "ready");
    let task = w.start(id).await;
    assert!(active().await, "running");
    w.settle(&task, failed(Retry::After(secs(60)))).await;
    assert!(active().await, "to be tried again");
    w.advance(60).await;
    let task = w.start(id).await;
    w.leave_behind(&task, children(1)).await;
    assert!(active().await, "waiting");
    w.work(w.kids(id).await[0], Outcome::Done(None)).await;
    assert!(!active().await, "ended");
}

/// A follow-up that waits for its family is active.
pub async fn a_waiting_follow_up_is_active(w: &World) {
    let root = w.start(w.enqueue("report").await).await;
    w.leave_behind(&root, follow_up(new_task("mail"), When::Settled)).await;
    assert!(w.store.is_active(&mail()).await.unwrap());
}

/// Only the commands that are asked for count; unknown ones, and none, are idle.
pub async fn only_the_commands_asked_for_count(w: &World) {
    w.enqueue("mail").await;
    let active = async |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| command(name)).collect();
        w.store.is_active(&names).await.unwrap()
    };
    assert!(active(&["report", "mail"]).await);
    assert!(!active(&["report"]).await && !active(&["nobody"]).await && !active(&[]).await);
}

/// A status is looked at when it is made, and shown by name, with its commands as they were given.
pub async fn a_status_is_looked_at_when_it_is_made(w: &World) {
    w.enqueue("mail").await;
    let both = [command("report"), command("mail")];
    w.store.put_status(&status_name("work"), &both).await.unwrap();
    w.store.put_status(&status_name("idle"), &[command("export")]).await.unwrap();
    let shown = |name, commands: &[CommandName], active| Status {
        name: status_name(name),
        commands: commands.to_vec(),
        active,
        changed_at: w.now(),
    };
    let expected = [shown("idle", &[command("export")], false), shown("work", &both, true)];
    assert_eq!(w.store.statuses().await.unwrap(), expected);
    assert_eq!(w.store.refresh_statuses().await.unwrap(), [], "nothing has turned");
}

/// A status turns when it is looked at again, says so once, and does not stick.
pub async fn a_status_turns_and_does_not_stick(w: &World) {
    let name = status_name("work");
    w.store.put_status(&name, &mail()).await.unwrap();
    w.store.put_status(&status_name("other"), &[command("export")]).await.unwrap();
    for _ in 0..3 {
        w.advance(1).await;
        let task = w.root().await;
        assert!(!w.store.statuses().await.unwrap()[1].active, "it is as it was last looked at");
        let on = Status { name: name.clone(), commands: mail().to_vec(), active: true, changed_at: w.now() };
        assert_eq!(w.store.refresh_statuses().await.unwrap(), std::slice::from_ref(&on));
        w.advance(1).await;
        assert_eq!(w.store.refresh_statuses().await.unwrap(), []);
        assert_eq!(w.store.statuses().await.unwrap()[1], on);
        w.done(&task).await;
        let off = Status { active: false, changed_at: w.now(), ..on };
        assert_eq!(w.store.refresh_statuses().await.unwrap(), std::slice::from_ref(&off));
        assert_eq!(w.store.statuses().await.unwrap()[1], off);
    }
}

/// What starts and ends between two looks is told as a turn and its turning back, once.
pub async fn activity_between_two_looks_is_told(w: &World) {
    let name = status_name("work");
    w.store.put_status(&name, &mail()).await.unwrap();
    w.store.put_status(&status_name("other"), &[command("export")]).await.unwrap();
    for _ in 0..3 {
        w.advance(1).await;
        let task = w.root().await;
        w.done(&task).await;
        let on = Status { name: name.clone(), commands: mail().to_vec(), active: true, changed_at: w.now() };
        let off = Status { active: false, ..on.clone() };
        assert_eq!(w.store.refresh_statuses().await.unwrap(), [on, off.clone()]);
        assert_eq!(w.store.statuses().await.unwrap()[1], off);
        w.advance(1).await;
        assert_eq!(w.store.refresh_statuses().await.unwrap(), []);
    }
    // What is still at work is told by its turns alone.
    let task = w.root().await;
    assert_eq!(w.store.refresh_statuses().await.unwrap().len(), 1);
    w.settle(&task, failed(Retry::After(secs(0)))).await;
    w.work(task.id, Outcome::Done(None)).await;
    let turns: Vec<_> = w.store.refresh_statuses().await.unwrap().iter().map(|status| status.active).collect();
    assert_eq!(turns, [false]);
}

/// Putting it again changes what it watches; the moment of its last turn stays unless it turns by that.
pub async fn putting_it_again_changes_what_it_watches(w: &World) {
    let name = status_name("work");
    w.store.put_status(&name, &mail()).await.unwrap();
    let made_at = w.now();
    w.advance(5).await;
    w.enqueue("report").await;
    w.store.put_status(&name, &[command("export")]).await.unwrap();
    let shown = w.store.statuses().await.unwrap().remove(0);
    assert_eq!((shown.commands, shown.active, shown.changed_at), (vec![command("export")], false, made_at));
    w.store.put_status(&name, &[command("report")]).await.unwrap();
    let shown = w.store.statuses().await.unwrap().remove(0);
    assert_eq!((shown.active, shown.changed_at), (true, w.now()));
}

/// A command that nobody has registered yet may be watched, and counts from its first task on.
pub async fn an_unknown_command_may_be_watched(w: &World) {
    w.store.put_status(&status_name("soon"), &[command("rare")]).await.unwrap();
    w.store.register(&[plain_command("rare")]).await.unwrap();
    w.enqueue("rare").await;
    let turned = w.store.refresh_statuses().await.unwrap();
    assert_eq!((turned.len(), turned[0].active), (1, true));
}

/// A removed status is gone; one that never was is not found; too many commands are refused.
pub async fn a_status_can_be_removed(w: &World) {
    let name = status_name("work");
    w.store.put_status(&name, &mail()).await.unwrap();
    w.store.remove_status(&name).await.unwrap();
    assert_eq!(w.store.statuses().await.unwrap(), []);
    let gone = w.store.remove_status(&name).await;
    assert!(matches!(gone, Err(StoreError::NotFound { what: "status", .. })), "{gone:?}");
    let many = vec![command("mail"); STATUS_COMMANDS_MAX + 1];
    assert!(matches!(w.store.put_status(&name, &many).await, Err(StoreError::Input(_))));
    assert_eq!(w.store.statuses().await.unwrap(), []);
}
