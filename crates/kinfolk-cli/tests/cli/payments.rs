//! The payments of `examples/payments`: a process written from the guide, under the real `kinfolk work`.

use crate::support::{Db, postgres};

const PAYMENTS: &str = include_str!("../../../../examples/payments/payments.sql");
const CONFIG: &str = include_str!("../../../../examples/payments/kinfolk.toml");

/// How many requests of a step have gone out and were recorded.
fn done(db: &Db, step: &str) -> usize {
    let requests = db.json(&["list", "--command", "http", "--state", "completed"]);
    requests.iter().filter(|task| task["payload"]["step"] == step).count()
}

#[test]
fn a_payment_is_captured_when_the_goods_leave_and_voided_when_they_do_not() {
    let db = postgres().migrated();
    db.sql(PAYMENTS);
    let folder = tempfile::tempdir().unwrap();
    let (bank, config) = (folder.path().join("bank"), folder.path().join("kinfolk.toml"));
    std::fs::create_dir(&bank).unwrap();
    std::fs::write(&config, CONFIG.replace("\"bank\"", &format!("{bank:?}"))).unwrap();
    let worker = db.worker(&["--config", config.to_str().unwrap()]);
    db.sql("select payments.pay('4242', 1999); select payments.pay('4242', 500, '1 second')");
    db.until("both are authorised", |db| done(db, "authorise") == 2);
    db.sql("select payments.ship(1)");
    db.until("the first is captured", |db| done(db, "capture") == 1);
    db.until("the second is voided", |db| done(db, "void") == 1);
    worker.stop();
    db.sql(
        "do $$ begin
            assert (select string_agg(f.payment_id || ' ' || f.step, ', ' order by f.payment_id, f.at)
                from payments.step_succeeded f) = '1 authorise, 1 capture, 2 authorise, 2 void';
            assert not exists (select from payments.step_failed);
        end $$",
    );
    assert_eq!(std::fs::read_dir(&bank).unwrap().count(), 4);
}
