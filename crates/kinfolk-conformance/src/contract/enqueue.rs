//! Enqueueing: what a new task is, and what an enqueue answers.

use kinfolk_core::{Command, Due, Enqueued, Gate, NewTask, Rejection, RetryPolicy, State, StoreError, Unique};

use crate::world::{World, command, json, later, new_task, plain_command, queue_name, secs};

/// A task that was given nothing but its command has the command's queue, priority, attempts and timeout.
pub async fn a_new_task_takes_its_commands_defaults(w: &World) {
    let retry = RetryPolicy { max_attempts: Some(7), ..RetryPolicy::default() };
    let report =
        Command { queue: queue_name("bulk"), priority: -4, retry, timeout: Some(secs(9)), ..plain_command("report") };
    w.store.register(&[report]).await.unwrap();
    let task = w.get(w.enqueue("report").await).await;
    assert_eq!((task.queue, task.priority, task.max_attempts), (queue_name("bulk"), -4, 7));
    assert_eq!(task.timeout, Some(secs(9)));
}

/// What an enqueue says goes before what the command says.
pub async fn what_the_enqueue_says_wins_over_the_command(w: &World) {
    let task = NewTask {
        queue: Some(queue_name("bulk")),
        priority: Some(5),
        max_attempts: Some(1),
        timeout: Some(secs(3)),
        payload: json(r#"{"to": "ada"}"#),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned()),
        ..new_task("mail")
    };
    let made = w.get(w.create(task.clone()).await).await;
    assert_eq!((made.queue, made.priority, made.max_attempts), (queue_name("bulk"), 5, 1));
    assert_eq!((made.timeout, made.payload, made.trace), (task.timeout, task.payload, task.trace));
}

/// A task for now is open, due now, and stands in line from now on.
pub async fn a_task_for_now_is_open_at_once(w: &World) {
    let task = w.get(w.enqueue("mail").await).await;
    assert_eq!((task.state, task.gate), (State::Pending, Some(Gate::Open)));
    assert_eq!((task.due, task.position, task.created_at), (w.now(), w.now(), w.now()));
    assert_eq!((task.attempt, task.strikes, task.suspect), (0, 0, false));
    assert_eq!((task.result, task.failure, task.worker, task.unique_key), (None, None, None, None));
    assert_eq!((task.started_at, task.finished_at, task.cancel_requested_at), (None, None, None));
}

/// A task for later waits behind the gate `time`, and its position in line is when it is due.
pub async fn a_task_for_later_waits_behind_the_time_gate(w: &World) {
    let task = w.get(w.create(later(60)).await).await;
    let due = w.now().plus(secs(60));
    assert_eq!((task.gate, task.due, task.position), (Some(Gate::Time), due, due));
}

/// A task for a moment that has passed is open, keeps that moment as its due time, and does not jump the line.
pub async fn a_task_for_the_past_is_open_and_does_not_jump_the_line(w: &World) {
    let first = w.enqueue("mail").await;
    let past = w.now().minus(secs(3_600));
    let second = w.create(NewTask { due: Due::At(past), ..new_task("mail") }).await;
    let task = w.get(second).await;
    assert_eq!((task.gate, task.due, task.position), (Some(Gate::Open), past, w.now()));
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 2).await, [first, second]);
}

/// A task due at this very moment is open.
pub async fn a_task_due_this_very_moment_is_open(w: &World) {
    let id = w.create(NewTask { due: Due::At(w.now()), ..new_task("mail") }).await;
    assert_eq!(w.get(id).await.gate, Some(Gate::Open));
}

/// One answer for each task, in the order given, and the numbers go up.
pub async fn a_batch_is_answered_in_order_with_rising_numbers(w: &World) {
    let ids = w.enqueue_many("mail", 250).await;
    assert_eq!(ids.len(), 250);
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 1_000).await, ids);
}

/// An empty batch is answered with nothing.
pub async fn an_empty_batch_is_no_mistake(w: &World) {
    assert_eq!(w.store.enqueue(&[]).await.unwrap(), []);
}

/// An unknown command is rejected by name, and its neighbours in the batch are made.
pub async fn an_unknown_command_is_rejected_and_its_neighbours_are_made(w: &World) {
    let batch = [new_task("mail"), new_task("nobody"), new_task("report")];
    let answers = w.store.enqueue(&batch).await.unwrap();
    assert!(matches!(answers[0], Enqueued::Created(_)));
    assert_eq!(answers[1], Enqueued::Rejected(Rejection::UnknownCommand(command("nobody"))));
    assert!(matches!(answers[2], Enqueued::Created(_)));
    assert_eq!(w.all().await.len(), 2);
}

/// Where all are wanted or none, one that is rejected is the error, by name, and its neighbours are not made.
pub async fn where_all_or_none_is_wanted_one_rejected_is_an_error(w: &World) {
    let known = [new_task("mail"), new_task("report")];
    let made = w.store.enqueue_all(&known).await.unwrap();
    assert!(matches!(made[..], [Enqueued::Created(_), Enqueued::Created(_)]), "{made:?}");
    let nowhere = NewTask { queue: Some(queue_name("nowhere")), ..new_task("mail") };
    let [first, second] = known;
    let fault = w.store.enqueue_all(&[first, new_task("nobody"), nowhere, second]).await.unwrap_err();
    assert!(
        matches!(&fault, StoreError::Rejected(Rejection::UnknownCommand(name)) if *name == command("nobody")),
        "{fault:?}"
    );
    let unique = NewTask { unique: Some(Unique::key("k")), queue: Some(queue_name("nowhere")), ..new_task("mail") };
    let fault = w.store.enqueue_all(&[new_task("mail"), unique]).await.unwrap_err();
    assert!(matches!(fault, StoreError::Rejected(Rejection::UnknownQueue(_))), "{fault:?}");
    assert_eq!(w.store.enqueue_all(&[]).await.unwrap(), []);
    assert_eq!(w.all().await.len(), 2);
}

/// An unknown queue is rejected by name.
pub async fn an_unknown_queue_is_rejected(w: &World) {
    let answer = w.put(NewTask { queue: Some(queue_name("nowhere")), ..new_task("mail") }).await;
    assert_eq!(answer, Enqueued::Rejected(Rejection::UnknownQueue(queue_name("nowhere"))));
    assert!(w.all().await.is_empty());
}

/// A paused queue takes new tasks.
pub async fn a_paused_queue_still_takes_new_tasks(w: &World) {
    w.store.pause(&queue_name("default"), None).await.unwrap();
    let id = w.enqueue("mail").await;
    assert_eq!(w.state(id).await, State::Pending);
}

/// A payload comes back as the same value: every digit, every letter, every depth.
pub async fn a_payload_comes_back_to_the_digit(w: &World) {
    let texts = [
        r#"{"n":123456789012345678901234567890.123456789012345678901234567890}"#,
        r#"{"big":9007199254740993,"exp":1e30,"small":-0.000000000000000000000000000001,"zero":-0.0}"#,
        r#"{"text":"\u00e9\ud83d\ude00 \"quoted\" \\ / \b\f\n\r\t \u0001 \u2028","":{"":[]}}"#,
        r#"[null,true,false,[],{},[[[[1]]]]]"#,
        r#""only text""#,
        "null",
        "17",
    ];
    let worker = w.worker().await;
    for text in texts {
        let id = w.create(NewTask { payload: json(text), ..new_task("mail") }).await;
        assert_eq!(w.get(id).await.payload, json(text));
        let task = w.take(worker).await;
        assert_eq!((task.id, task.payload), (id, json(text)));
    }
}

/// Registering a command again changes tasks enqueued later, and none that are there.
pub async fn registering_again_changes_only_later_tasks(w: &World) {
    let before = w.enqueue("mail").await;
    let command = Command { priority: 8, timeout: Some(secs(2)), queue: queue_name("new"), ..plain_command("mail") };
    w.store.register(&[command]).await.unwrap();
    let after = w.enqueue("mail").await;
    let (before, after) = (w.get(before).await, w.get(after).await);
    assert_eq!((before.priority, before.timeout, before.queue), (0, None, queue_name("default")));
    assert_eq!((after.priority, after.timeout, after.queue), (8, Some(secs(2)), queue_name("new")));
}

/// Registering a command makes its queue, with default policy, and leaves one that is there as it is.
pub async fn registering_makes_missing_queues_and_leaves_others_alone(w: &World) {
    w.store.pause(&queue_name("default"), None).await.unwrap();
    let command = Command { queue: queue_name("fresh"), ..plain_command("brew") };
    w.store.register(&[command.clone(), plain_command("mail")]).await.unwrap();
    let queues = w.store.queues().await.unwrap();
    let names: Vec<_> = queues.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!(names, ["bulk", "default", "fresh"]);
    assert_eq!(queues[1].paused_at, Some(w.now()));
    assert_eq!((queues[2].paused_at, queues[2].policy.retention), (None, kinfolk_core::Retention::default()));
    let commands = w.store.commands().await.unwrap();
    assert!(commands.contains(&command));
}

/// A task enqueued by one process is claimed by another.
pub async fn a_task_enqueued_here_is_claimed_elsewhere(w: &World) {
    let id = w.enqueue("mail").await;
    let (elsewhere, spec) = (w.another().await, crate::world::worker_spec(crate::world::LEASE));
    elsewhere.register_worker(&spec).await.unwrap();
    let claimed = elsewhere.claim(&crate::world::claim_of(spec.id, 5)).await.unwrap();
    assert_eq!(crate::world::ids(&claimed.tasks), [id]);
    assert_eq!(w.get(id).await.worker, Some(spec.id));
}
