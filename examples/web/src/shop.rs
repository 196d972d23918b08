//! The shop's own table, beside those of the tasks: by sqlx on PostgreSQL, by rusqlite in the file of an SQLite store. On both an
//! order and the task that packs it are one transaction.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kinfolk::{Kinfolk, TaskId};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use sqlx::{PgPool, query, query_scalar};

use crate::Fault;
use crate::packing::Pack;

const TABLE_POSTGRES: &str = "create table if not exists web_order (
    number bigint generated always as identity primary key, customer text not null, parcels bigint not null, task bigint)";
const TABLE_SQLITE: &str = "create table if not exists web_order (
    number integer primary key, customer text not null, parcels integer not null, task integer)";
const INSERT: &str = "insert into web_order (customer, parcels) values ($1, $2) returning number";
const SET_TASK: &str = "update web_order set task = $2 where number = $1";
const TASK_OF: &str = "select task from web_order where number = $1";

/// How long an order waits for others that write to the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where orders are kept.
#[derive(Clone, Debug)]
pub(crate) enum Shop {
    /// In PostgreSQL.
    Postgres(PgPool),
    /// In an SQLite file.
    Sqlite(Arc<Mutex<Connection>>),
}

impl Shop {
    /// Opens the database of a store that is there.
    pub(crate) async fn open(url: &str) -> Result<Self, Fault> {
        if url.starts_with("postgres") {
            let pool = PgPool::connect(url).await?;
            query(TABLE_POSTGRES).execute(&pool).await?;
            return Ok(Self::Postgres(pool));
        }
        let file = Connection::open(url.trim_start_matches("sqlite:"))?;
        file.busy_timeout(PATIENCE)?;
        file.execute(TABLE_SQLITE, ())?;
        Ok(Self::Sqlite(Arc::new(Mutex::new(file))))
    }

    /// Takes an order. Its number.
    pub(crate) async fn place(&self, kinfolk: &Kinfolk, customer: &str, parcels: u32) -> Result<i64, Fault> {
        match self {
            Self::Postgres(pool) => {
                let mut transaction = pool.begin().await?;
                let insert = query_scalar(INSERT).bind(customer).bind(i64::from(parcels));
                let order: i64 = insert.fetch_one(&mut *transaction).await?;
                let packing = kinfolk.enqueue_task(&Pack { order, parcels });
                let task = packing.in_tx(&mut transaction).await?.id()?;
                query(SET_TASK).bind(order).bind(task.0).execute(&mut *transaction).await?;
                transaction.commit().await?;
                Ok(order)
            }
            Self::Sqlite(file) => {
                let (kinfolk, customer) = (kinfolk.clone(), customer.to_owned());
                on_a_thread(file, move |file| {
                    let transaction = file.transaction_with_behavior(TransactionBehavior::Immediate)?;
                    let order = transaction.query_row(INSERT, (customer, parcels), |row| row.get(0))?;
                    let packing = kinfolk.enqueue_task(&Pack { order, parcels }).into_task()?;
                    let task = kinfolk::sqlite::enqueue_in(&transaction, &[packing])?.remove(0).id()?;
                    transaction.execute(SET_TASK, (order, task.0))?;
                    transaction.commit()?;
                    Ok(order)
                })
                .await
            }
        }
    }

    /// The task that packs an order, if there is such an order.
    pub(crate) async fn task_of(&self, order: i64) -> Result<Option<TaskId>, Fault> {
        let task: Option<Option<i64>> = match self {
            Self::Postgres(pool) => query_scalar(TASK_OF).bind(order).fetch_optional(pool).await?,
            Self::Sqlite(file) => {
                let look = move |file: &mut Connection| file.query_row(TASK_OF, [order], |row| row.get(0)).optional();
                on_a_thread(file, move |file| Ok(look(file)?)).await?
            }
        };
        Ok(task.flatten().map(TaskId))
    }
}

/// Works on the file on a thread that may wait for the disk.
async fn on_a_thread<T: Send + 'static>(
    file: &Arc<Mutex<Connection>>,
    act: impl FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let file = file.clone();
    tokio::task::spawn_blocking(move || act(&mut file.lock().unwrap_or_else(PoisonError::into_inner))).await?
}
