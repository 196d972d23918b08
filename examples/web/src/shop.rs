//! The shop's own tables: by sqlx on PostgreSQL, by rusqlite in a file beside that of the tasks.
//!
//! On PostgreSQL an order and its task are one transaction. On SQLite they are two: an order whose task was not enqueued, since the
//! shop was killed in between, is enqueued when the shop opens again, under a unique key.

use std::sync::{Arc, Mutex, PoisonError};

use kinfolk::{Kinfolk, TaskId, Unique};
use rusqlite::{Connection, OptionalExtension as _};
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
const FORGOTTEN: &str = "select number, parcels from web_order where task is null";

/// Where orders are kept.
#[derive(Clone, Debug)]
pub(crate) enum Shop {
    /// In the database of the tasks.
    Postgres(PgPool),
    /// In a file beside that of the tasks.
    Sqlite(Orders),
}

impl Shop {
    pub(crate) async fn open(url: &str) -> Result<Self, Fault> {
        if url.starts_with("postgres") {
            let pool = PgPool::connect(url).await?;
            query(TABLE_POSTGRES).execute(&pool).await?;
            return Ok(Self::Postgres(pool));
        }
        let file = Connection::open(format!("{}-orders", url.trim_start_matches("sqlite:")))?;
        file.execute(TABLE_SQLITE, ())?;
        Ok(Self::Sqlite(Orders(Arc::new(Mutex::new(file)))))
    }

    /// Takes an order. Its number.
    pub(crate) async fn place(&self, kinfolk: &Kinfolk, customer: &str, parcels: u32) -> Result<i64, Fault> {
        match self {
            Self::Postgres(pool) => {
                let mut transaction = pool.begin().await?;
                let insert = query_scalar(INSERT).bind(customer).bind(i64::from(parcels));
                let order: i64 = insert.fetch_one(&mut *transaction).await?;
                let task = kinfolk.enqueue_task(&Pack { order, parcels }).into_task()?;
                let task = kinfolk_sqlx::enqueue_in(&mut transaction, &[task]).await?.remove(0).id()?;
                query(SET_TASK).bind(order).bind(task.0).execute(&mut *transaction).await?;
                transaction.commit().await?;
                Ok(order)
            }
            Self::Sqlite(orders) => {
                let customer = customer.to_owned();
                let order =
                    orders.ask(move |file| file.query_row(INSERT, (customer, parcels), |row| row.get(0))).await?;
                orders.enqueue(kinfolk, Pack { order, parcels }).await?;
                Ok(order)
            }
        }
    }

    /// The task that packs an order, if there is such an order.
    pub(crate) async fn task_of(&self, order: i64) -> Result<Option<TaskId>, Fault> {
        let task: Option<Option<i64>> = match self {
            Self::Postgres(pool) => query_scalar(TASK_OF).bind(order).fetch_optional(pool).await?,
            Self::Sqlite(orders) => {
                orders.ask(move |file| file.query_row(TASK_OF, [order], |row| row.get(0)).optional()).await?
            }
        };
        Ok(task.flatten().map(TaskId))
    }

    /// Enqueues what was ordered and never enqueued.
    pub(crate) async fn enqueue_forgotten(&self, kinfolk: &Kinfolk) -> Result<(), Fault> {
        if let Self::Sqlite(orders) = self {
            for pack in orders.ask(forgotten).await? {
                orders.enqueue(kinfolk, pack).await?;
            }
        }
        Ok(())
    }
}

/// The shop's file.
#[derive(Clone, Debug)]
pub(crate) struct Orders(Arc<Mutex<Connection>>);

impl Orders {
    /// Asks the file something, on a thread that may wait for the disk.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let file = self.0.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&file.lock().unwrap_or_else(PoisonError::into_inner)));
        Ok(asked.await??)
    }

    async fn enqueue(&self, kinfolk: &Kinfolk, pack: Pack) -> Result<(), Fault> {
        let unique = Unique::key(format!("order-{}", pack.order));
        let task = kinfolk.enqueue_task(&pack).unique(unique).await?.id()?;
        self.ask(move |file| file.execute(SET_TASK, (pack.order, task.0))).await?;
        Ok(())
    }
}

fn forgotten(file: &Connection) -> rusqlite::Result<Vec<Pack>> {
    let mut look = file.prepare(FORGOTTEN)?;
    look.query_map((), |row| Ok(Pack { order: row.get(0)?, parcels: row.get(1)? }))?.collect()
}
