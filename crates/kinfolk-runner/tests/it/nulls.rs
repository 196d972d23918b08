//! The null of JSON is a payload of its own, and nothing makes the empty object of it.

use kinfolk::State;

use crate::lab::Lab;

/// A family whose members are given null in every way that there is, and note what they got.
const FAMILY: &str = r#"
    create function app.note_it(p jsonb) returns jsonb language plpgsql as $$ begin
        insert into app.note (what) values (coalesce(p::text, 'nothing'));
        return p;
    end $$;
    create function app.make(p jsonb) returns void language plpgsql as $$ begin
        perform kinfolk.spawn('child', 'null');
        perform kinfolk.follow_up('note_it', 'null');
        perform kinfolk.enqueue('note_it', 'null');
        perform kinfolk.enqueue_many('[{"command": "note_it", "payload": null}]');
        perform kinfolk.try_enqueue('note_it', 'null');
        perform kinfolk.try_enqueue_many('[{"command": "note_it", "payload": null}, {"command": "no", "payload": null}]');
    end $$;
    create function app.child(p jsonb) returns jsonb language plpgsql as $$ begin
        perform kinfolk.spawn_sibling('note_it', 'null');
        return app.note_it(p);
    end $$;
    create function app.ask(p jsonb) returns void language plpgsql as $$ begin
        perform kinfolk.fan_out('[{"command": "note_it", "payload": null}, {"command": "note_it"}]', and_then => 'app.tell');
    end $$;
    create function app.tell(told jsonb) returns jsonb language sql as $$ select told -> 'payload' $$;
    select kinfolk.register_command(c, handler => 'app.' || c, max_attempts => 1) from unnest('{note_it,make,child,ask}'::text[]) c"#;

#[tokio::test]
async fn a_payload_of_null_stays_null_however_its_task_is_made() {
    let lab = Lab::new(FAMILY).await;
    let worker = lab.worker().await;
    let made = lab.ended(lab.enqueue("make", "null").await).await;
    assert_eq!((made.state, made.payload.as_str()), (State::Completed, "null"), "{made:?}");
    // A child, its sibling, a follow-up, and four tasks that stand alone.
    lab.until("select count(*)::text from app.note", "7").await;
    assert!(lab.notes().await.iter().all(|note| note == "null"), "{:?}", lab.notes().await);
    lab.database.run("delete from app.note").await;
    let asked = lab.ended(lab.enqueue("ask", "null").await).await;
    assert_eq!(asked.result.expect("a result").as_str(), "null", "what goes on gets the payload of the task");
    let mut notes = lab.notes().await;
    notes.sort();
    assert_eq!(notes, ["null", "{}"], "a payload that is left out is the empty object");
    lab.close(worker).await;
}

#[tokio::test]
async fn the_null_of_sql_is_no_payload() {
    let lab = Lab::new(FAMILY).await;
    for call in ["enqueue('note_it', null)", "try_enqueue('note_it', null)"] {
        let refused = lab.database.try_run(&format!("select kinfolk.{call}")).await.unwrap_err();
        assert!(refused.to_string().contains("a payload is null"), "{call}: {refused}");
    }
}
