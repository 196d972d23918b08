//! Scripts for new processes, whatever their names.

use kinfolk_runner::new_module;

use crate::lab::Lab;

/// Words that PL/pgSQL keeps for itself, beside those of SQL.
const OF_PLPGSQL: &str = "'by', 'declare', 'execute', 'foreach', 'if', 'loop', 'strict', 'while'";

/// A process that fails once, and is tried again.
const RUN: &str = r#"
    select "order".kickoff_order_task('{}');
    call kinfolk.process_tasks(until_idle => true);
    select "order".record_order_failure(jsonb_build_object('error', 'closed', 'original_payload',
        jsonb_build_object('order_task_id', 1, 'attempt', 1)));
    call kinfolk.process_tasks(until_idle => true);
    do $$ begin
        assert (select count(*) from "order".order_task_scheduled) = 2;
        assert (select health from "order".find_stuck_order()) = 'good';
    end $$;"#;

#[tokio::test]
async fn a_process_may_be_named_by_any_reserved_word() {
    let lab =
        Lab::new("select kinfolk.register_command(c, handler => c) from unnest('{db_function,http}'::text[]) c").await;
    let words = format!(
        "select word from pg_get_keywords() where catcode <> 'U' union select unnest(array[{OF_PLPGSQL}]) order by 1"
    );
    let words = lab.database.texts(&words).await;
    assert!(words.iter().any(|word| word == "order"), "{words:?}");
    for word in words {
        let script = new_module(&word).unwrap();
        let open = script.strip_suffix("commit;\n").expect("a script is one transaction");
        // One process is also run.
        let run = if word == "order" { RUN } else { "" };
        // Its roles belong to the whole cluster, so nothing of it stays.
        let tried = format!("{open}\n{run}\nrollback;");
        lab.database.try_run(&tried).await.unwrap_or_else(|fault| panic!("{word}: {fault}"));
    }
}
