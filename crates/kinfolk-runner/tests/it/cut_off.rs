//! Handlers that find no connection, or whose connection the server ends: that is no fault of their tasks.

use std::time::Duration;

use kinfolk::{State, WorkerHandle};
use kinfolk_runner::SqlCommands;

use crate::lab::Lab;

/// A role for handlers that may have only so many connections.
struct Few(String);

impl Few {
    async fn new(lab: &Lab, most: u32) -> Self {
        let few = Self(format!("{}_few", lab.database.name()));
        lab.database.run(&format!("create role {} login connection limit {most} in role kinfolk_worker", few.0)).await;
        few
    }

    async fn allow(&self, lab: &Lab, most: u32) {
        let role = &self.0;
        lab.database.run(&format!("alter role {role} connection limit {most}")).await;
        let extra = format!("select pg_terminate_backend(pid) from pg_stat_activity where usename = '{role}'");
        lab.database.run(&extra).await;
    }

    /// A worker that runs more handlers at once than there are connections for.
    async fn worker(&self, lab: &Lab) -> WorkerHandle {
        let url = lab.database.url.replacen("postgres@", &format!("{}@", self.0), 1);
        let commands = SqlCommands::open(&url, 8).unwrap();
        let poll = Duration::from_millis(50);
        lab.kinfolk.worker().poll(poll).queue("default", 8).commands_from(commands).start().await.unwrap()
    }

    /// The role would outlive the database.
    async fn end(self, lab: Lab, worker: WorkerHandle) {
        worker.stop().await.unwrap();
        lab.database.run(&format!("drop role {}", self.0)).await;
        assert_eq!(lab.kinfolk.store().check().await.unwrap(), []);
    }
}

#[tokio::test]
async fn a_task_for_which_there_is_no_connection_is_given_back_at_no_cost() {
    let lab = Lab::new(
        "create function app.nap(p jsonb) returns void language sql as $$ select pg_sleep(0.02) $$;
         grant usage on schema app to public;
         select kinfolk.register_command('nap', handler => 'app.nap', max_attempts => 1)",
    )
    .await;
    let few = Few::new(&lab, 2).await;
    // All of them are there before the worker is, however slow this machine: it begins with eight at once.
    let mut tasks = Vec::new();
    for _ in 0..60 {
        tasks.push(lab.enqueue("nap", "{}").await);
    }
    let worker = few.worker(&lab).await;
    for id in tasks {
        let task = lab.ended(id).await;
        assert_eq!((task.state, task.attempt), (State::Completed, 1), "{:?}", task.failure);
    }
    let released = "select (count(*) > 0)::text from kinfolk.attempt where ending = 'released'";
    assert_eq!(
        lab.database.texts(released).await,
        ["true"],
        "there was a connection for each: the test proves nothing"
    );
    few.end(lab, worker).await;
}

#[tokio::test]
async fn a_task_that_gets_no_connection_within_its_timeout_has_not_timed_out() {
    let lab = Lab::new(
        "create function app.ok(p jsonb) returns void language sql as $$ select $$;
         grant usage on schema app to public;
         select kinfolk.register_command('ok', handler => 'app.ok', max_attempts => 1, timeout => '1 s')",
    )
    .await;
    let few = Few::new(&lab, 1).await;
    let worker = few.worker(&lab).await;
    few.allow(&lab, 0).await;
    let id = lab.enqueue("ok", "{}").await;
    let released = |more: &str| {
        let many = "select count(*) from kinfolk.attempt where ending = 'released' and task_id =";
        format!("select (({many} {id}) > {more})::text")
    };
    lab.until(&released("2"), "true").await;
    // What it begins from now on has time enough, however slow this machine: only the wait for a connection is looked at.
    let patient = format!("update kinfolk.task set timeout_us = 3600000000 where id = {id} returning runs::text");
    let begun = lab.database.texts(&patient).await;
    lab.until(&released(&begun[0]), "true").await;
    few.allow(&lab, 9).await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt), (State::Completed, 1), "{:?}", task.failure);
    few.end(lab, worker).await;
}

#[tokio::test]
async fn a_connection_that_is_ended_under_a_handler_costs_its_task_nothing() {
    let lab = Lab::new(
        "create function app.was_tried(id bigint) returns boolean language sql security definer as
             $$ select exists (select from kinfolk.attempt a where a.task_id = id) $$;
         create function app.first_time(p jsonb) returns void language plpgsql as $$ begin
             insert into app.note (what) values ('once');
             if not app.was_tried(kinfolk.current_task()) then
                 perform pg_sleep(60);
             end if;
         end $$;
         create procedure app.first_call(p jsonb) language plpgsql as $$ begin
             commit;
             perform app.first_time(p);
         end $$;
         select kinfolk.register_command('function', handler => 'app.first_time', max_attempts => 1),
             kinfolk.register_command('bounded', handler => 'app.first_time', max_attempts => 1, statement_timeout => '1 h'),
             kinfolk.register_command('procedure', handler => 'app.first_call', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    for command in ["function", "bounded", "procedure"] {
        let id = lab.enqueue(command, "{}").await;
        let asleep = "from pg_stat_activity where application_name = 'kinfolk handler' and wait_event = 'PgSleep'
            and datname = current_database()";
        lab.until(&format!("select count(*)::text {asleep}"), "1").await;
        lab.database.run(&format!("select pg_terminate_backend(pid) {asleep}")).await;
        let task = lab.ended(id).await;
        assert_eq!((task.state, task.attempt), (State::Completed, 1), "{command}: {:?}", task.failure);
    }
    assert_eq!(lab.notes().await, ["once", "once", "once"]);
    lab.close(worker).await;
}

#[tokio::test]
async fn an_error_about_a_connection_of_the_handlers_own_is_an_error_of_its_task() {
    let lab = Lab::new(
        "create function app.remote(p jsonb) returns void language plpgsql as $$ begin
             raise exception 'the other server is away' using errcode = p ->> 'code';
         end $$;
         select kinfolk.register_command('remote', handler => 'app.remote', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    for code in ["08006", "53300", "57P01"] {
        let id = lab.enqueue("remote", &format!(r#"{{"code": "{code}"}}"#)).await;
        assert_eq!(lab.ended(id).await.state, State::Failed, "{code}");
    }
    lab.close(worker).await;
}
