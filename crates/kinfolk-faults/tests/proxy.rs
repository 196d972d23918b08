//! The proxy itself: it loses the answer that it was told to lose, after the commit, and nothing else.

use std::time::Duration;

use anyhow::Result;
use kinfolk_faults::bed::{cluster_url, connect};
use kinfolk_faults::proxy::Proxy;

#[tokio::test]
async fn the_answer_to_the_second_insert_is_lost_after_its_commit() -> Result<()> {
    let admin = connect(&cluster_url()?).await?;
    let port = admin.query_one("select current_setting('port')", &[]).await?.get::<_, String>(0).parse()?;
    let proxy = Proxy::start(port).await?;
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", proxy.port());
    let table = format!("kinfolk_proxy_{}", std::process::id());
    admin.batch_execute(&format!("create table {table} (number int)")).await?;

    let client = connect(&url).await?;
    proxy.lose_answer("insert into", 2);
    let insert = format!("insert into {table} values ($1)");
    client.execute(&insert, &[&1]).await?;
    assert!(client.execute(&insert, &[&2]).await.is_err(), "the answer came through");
    proxy.wait_lost(1, Duration::from_secs(120)).await?;
    assert!(client.is_closed());

    let rows = admin.query(&format!("select number from {table} order by 1"), &[]).await?;
    let numbers: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
    admin.batch_execute(&format!("drop table {table}")).await?;
    assert_eq!(numbers, [1, 2], "the lost answer's insert was not committed");
    Ok(())
}

#[tokio::test]
async fn in_an_explicit_transaction_it_is_the_answer_to_the_commit_that_is_lost() -> Result<()> {
    let admin = connect(&cluster_url()?).await?;
    let port = admin.query_one("select current_setting('port')", &[]).await?.get::<_, String>(0).parse()?;
    let proxy = Proxy::start(port).await?;
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", proxy.port());
    let table = format!("kinfolk_proxy_tx_{}", std::process::id());
    admin.batch_execute(&format!("create table {table} (number int)")).await?;

    let mut client = connect(&url).await?;
    proxy.lose_answer("insert into", 1);
    let tx = client.transaction().await?;
    tx.execute(&format!("insert into {table} values (7)"), &[]).await?;
    assert!(tx.commit().await.is_err(), "the answer to the commit came through");
    proxy.wait_lost(1, Duration::from_secs(120)).await?;

    let row = admin.query_one(&format!("select count(*) from {table}"), &[]).await?;
    admin.batch_execute(&format!("drop table {table}")).await?;
    assert_eq!(row.get::<_, i64>(0), 1);
    Ok(())
}
