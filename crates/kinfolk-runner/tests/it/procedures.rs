//! Procedures as handlers: they commit as they go.

use kinfolk::State;

use crate::lab::Lab;

#[tokio::test]
async fn a_procedure_commits_as_it_goes_and_is_settled_at_its_end() {
    let lab = Lab::new(
        "create procedure app.steps(inout p jsonb) language plpgsql as $$ begin
             for n in 1..3 loop
                 insert into app.note (what) values (n || ' of task ' || kinfolk.current_task());
                 commit;
             end loop;
             p := '{\"steps\": 3}';
         end $$;
         create function app.before(p jsonb) returns void language sql as $$ insert into app.note (what) values ('before') $$;
         create function app.after(p jsonb) returns void language sql as $$ insert into app.note (what) values ('after') $$;
         select kinfolk.register_command('steps', handler => 'app.steps', before => 'app.before', after => 'app.after')",
    )
    .await;
    let worker = lab.worker().await;
    for _ in 0..2 {
        let id = lab.enqueue("steps", "{}").await;
        let task = lab.ended(id).await;
        assert_eq!(
            (task.state, task.result),
            (State::Completed, Some(kinfolk::Json::parse(r#"{"steps":3}"#).unwrap()))
        );
        let of = |n| format!("{n} of task {id}");
        assert_eq!(lab.notes().await, ["before".to_owned(), of(1), of(2), of(3), "after".to_owned()]);
        lab.database.run("truncate app.note").await;
    }
    let locks = "select count(*)::text from pg_locks where locktype = 'advisory' and classid = 1263160908
        and database = (select oid from pg_database where datname = current_database())";
    lab.until(locks, "0").await;
    lab.close(worker).await;
}

#[tokio::test]
async fn what_a_procedure_committed_before_it_failed_stays_and_the_rest_does_not() {
    let lab = Lab::new(
        "create procedure app.half(p jsonb) language plpgsql as $$ begin
             insert into app.note (what) values ('kept');
             commit;
             insert into app.note (what) values ('lost');
             raise exception 'half way';
         end $$;
         select kinfolk.register_command('half', handler => 'app.half', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    let id = lab.enqueue("half", "{}").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.failure.unwrap().message.as_str()), (State::Failed, "half way"));
    assert_eq!(lab.notes().await, ["kept"]);
    lab.close(worker).await;
}
