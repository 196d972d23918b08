//! Families made in SQL.

use kinfolk::{CommandName, FailureKind, Json, Keys, NewTask, State};

use crate::lab::Lab;

#[tokio::test]
async fn a_function_spawns_children_siblings_and_follow_ups() {
    let lab = Lab::new(
        "create function app.is_there(task bigint) returns boolean language sql security definer as
             $$ select exists (select from kinfolk.tasks where id = task) $$;
         create function app.parent(p jsonb) returns jsonb language plpgsql as $$ declare v_child bigint; begin
             assert not kinfolk.has_pending_children();
             v_child := kinfolk.spawn('child', '{\"n\": 1}');
             assert kinfolk.has_pending_children();
             assert not app.is_there(v_child), 'not yet';
             perform kinfolk.follow_up('last', unique_key => 'last');
             return to_jsonb(v_child);
         end $$;
         create function app.child(p jsonb) returns void language plpgsql as $$ begin
             if p ->> 'n' = '1' then perform kinfolk.spawn_sibling('child', '{\"n\": 2}'); end if;
             insert into app.note (what) values ('child ' || (p ->> 'n'));
         end $$;
         create function app.last(p jsonb) returns void language sql as $$ insert into app.note (what) values ('last') $$;
         select kinfolk.register_command(c, handler => 'app.' || c) from unnest(array['parent', 'child', 'last']) c",
    )
    .await;
    let worker = lab.worker().await;
    let id = lab.enqueue("parent", "{}").await;
    let parent = lab.ended(id).await;
    assert_eq!(parent.state, State::Completed);
    let tally = lab.kinfolk.store().tally(id).await.unwrap();
    assert_eq!((tally.total, tally.completed), (2, 2));
    let children = lab.kinfolk.store().children(id, 0, 10).await.unwrap();
    assert_eq!(children[0].id.to_string(), parent.result.unwrap().as_str(), "the number was given at the call");
    lab.until("select count(*)::text from app.note", "3").await;
    assert_eq!(lab.notes().await, ["child 1", "child 2", "last"]);
    lab.close(worker).await;
}

#[tokio::test]
async fn children_of_a_function_have_keys_of_their_own_or_their_makers() {
    let lab = Lab::new(
        "create function app.parent(p jsonb) returns void language plpgsql as $$ begin
             perform kinfolk.spawn('child', keys => '{\"message\": \"m1\"}', inherit_keys => true);
             perform kinfolk.spawn('child', inherit_keys => true);
             perform kinfolk.spawn('child');
         end $$;
         create function app.child(p jsonb) returns void language sql as '';
         select kinfolk.register_command('parent', handler => 'app.parent', groups => '{\"tenant\": 1, \"region\": 1}');
         select kinfolk.register_command('child', handler => 'app.child', groups => '{\"tenant\": 1, \"message\": 1}')",
    )
    .await;
    let worker = lab.worker().await;
    let keys = Keys::of([("tenant", "acme"), ("region", "north")]).unwrap();
    let task = NewTask { keys, ..NewTask::new(CommandName::new("parent").unwrap(), Json::object()) };
    let id = lab.kinfolk.store().enqueue(&[task]).await.unwrap()[0].id().unwrap();
    assert_eq!(lab.ended(id).await.state, State::Completed);
    let children = lab.kinfolk.store().children(id, 0, 10).await.unwrap();
    let keys: Vec<_> = children.into_iter().map(|child| child.keys).collect();
    let of = |keys: &[(&str, &str)]| Keys::of(keys.iter().copied()).unwrap();
    assert_eq!(keys, [of(&[("tenant", "acme"), ("message", "m1")]), of(&[("tenant", "acme")]), of(&[])]);
    lab.close(worker).await;
}

#[tokio::test]
async fn children_run_in_order_when_the_handler_says_so() {
    let lab = Lab::new(
        "create function app.parent(p jsonb) returns void language plpgsql as $$ begin
             perform kinfolk.in_order(until_failure => true);
             for n in 1..4 loop perform kinfolk.spawn('child', jsonb_build_object('n', n)); end loop;
         end $$;
         create function app.child(p jsonb) returns void language plpgsql as $$ begin
             if p ->> 'n' = '3' then raise 'no'; end if;
             insert into app.note (what) values (p ->> 'n');
         end $$;
         select kinfolk.register_command('parent', handler => 'app.parent');
         select kinfolk.register_command('child', handler => 'app.child', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    let id = lab.enqueue("parent", "{}").await;
    let parent = lab.ended(id).await;
    assert_eq!((parent.state, parent.failure.unwrap().kind), (State::Failed, FailureKind::Children));
    assert_eq!(lab.notes().await, ["1", "2"]);
    let states: Vec<State> =
        lab.kinfolk.store().children(id, 0, 10).await.unwrap().iter().map(|child| child.state).collect();
    assert_eq!(states, [State::Completed, State::Completed, State::Failed, State::Cancelled]);
    lab.close(worker).await;
}

#[tokio::test]
async fn what_can_not_be_made_is_refused_at_the_call_and_nothing_is_made() {
    let lab = Lab::new(
        "create function app.parent(p jsonb) returns void language plpgsql as $$ begin
             perform kinfolk.spawn('child');
             case p ->> 'how'
                 when 'unknown' then perform kinfolk.spawn('nobody');
                 when 'sibling' then perform kinfolk.spawn_sibling('child');
                 when 'closed' then perform kinfolk.spawn('child', queue => 'closed');
                 when 'deep' then null;
             end case;
         end $$;
         create function app.child(p jsonb) returns void language sql as $$ select kinfolk.spawn('child') $$;
         select kinfolk.register_command('parent', handler => 'app.parent', max_attempts => 1);
         select kinfolk.register_command('child', handler => 'app.child', max_attempts => 1);
         select kinfolk.set_queue('closed', null, null, null, p_child_limit => 0);
         select kinfolk.set_limits('default', depth_limit => 1)",
    )
    .await;
    let worker = lab.worker().await;
    for (how, words) in
        [("unknown", "unknown command nobody"), ("sibling", "has no parent"), ("closed", "takes no children")]
    {
        let id = lab.enqueue("parent", &format!(r#"{{"how": "{how}"}}"#)).await;
        let failure = lab.ended(id).await.failure.unwrap();
        assert!(failure.message.contains(words), "{how}: {failure:?}");
        assert_eq!(failure.kind, FailureKind::Refused);
        assert_eq!(lab.kinfolk.store().tally(id).await.unwrap().total, 0);
    }
    let id = lab.enqueue("parent", r#"{"how": "deep"}"#).await;
    assert_eq!(lab.ended(id).await.state, State::Failed);
    let child = lab.kinfolk.store().children(id, 0, 1).await.unwrap().remove(0);
    assert!(child.failure.unwrap().message.contains("may not grow this deep"));
    lab.close(worker).await;
}

#[tokio::test]
async fn what_a_failed_attempt_meant_to_make_is_gone_and_a_procedure_makes_it_once() {
    let lab = Lab::new(
        "create procedure app.steps(p jsonb) language plpgsql as $$ begin
             perform kinfolk.spawn('child');
             commit;
             insert into app.note (what) values ('try');
             commit;
             if (select count(*) from app.note where what = 'try') < 3 then raise 'again'; end if;
         end $$;
         create function app.child(p jsonb) returns void language plpgsql as $$ begin
             if not kinfolk.has_failed_siblings() then insert into app.note (what) values ('child'); end if;
         end $$;
         select kinfolk.register_command('steps', handler => 'app.steps', backoff_base => '0');
         select kinfolk.register_command('child', handler => 'app.child')",
    )
    .await;
    let worker = lab.worker().await;
    let id = lab.enqueue("steps", "{}").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt), (State::Completed, 3));
    assert_eq!(lab.kinfolk.store().tally(id).await.unwrap().total, 1);
    assert_eq!(lab.notes().await, ["try", "try", "try", "child"]);
    lab.close(worker).await;
}

#[tokio::test]
async fn children_may_be_made_by_one_statement() {
    let lab = Lab::new(
        "create function app.parent(p jsonb) returns void language sql as $$
             select kinfolk.spawn('child', jsonb_build_object('n', n)) from generate_series(1, 300) n $$;
         create function app.child(p jsonb) returns void language sql as $$ select $$;
         select kinfolk.register_command(c, handler => 'app.' || c) from unnest(array['parent', 'child']) c",
    )
    .await;
    let worker = lab.builder().queue("default", 4).start().await.unwrap();
    let id = lab.enqueue("parent", "{}").await;
    assert_eq!(lab.ended(id).await.state, State::Completed);
    assert_eq!(lab.kinfolk.store().tally(id).await.unwrap().completed, 300);
    lab.close(worker).await;
}
