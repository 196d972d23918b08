//! Walks two calls through every order in which their marked points can follow each other.
//!
//! Each of the two sessions is a store with one connection that stops at each point. The walker lets them go on one at a
//! time. A session that waits for the other's lock can't be let go on: the schedule goes on with the other one, and the
//! waiting one follows when it can.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kinfolk_core::StoreError;
use kinfolk_postgres::testing::{self, TestDatabase};
use kinfolk_postgres::{PgOptions, PgStore};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

/// More points than any call passes.
const STEPS_MAX: i32 = 60;
/// A session that does nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// One call of a pair, ready to be made on its session.
pub(crate) type Call =
    Box<dyn FnOnce(Arc<PgStore>) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>> + Send>;

/// Boxes a call.
pub(crate) fn call<F, W>(make: F) -> Call
where
    F: FnOnce(Arc<PgStore>) -> W + Send + 'static,
    W: Future<Output = Result<(), StoreError>> + Send + 'static,
{
    Box::new(move |store| Box::pin(make(store)))
}

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    Point(i32),
    Blocked,
    End,
}

struct Session {
    number: i32,
    store: Arc<PgStore>,
    running: Option<JoinHandle<Result<(), StoreError>>>,
    call: Option<Call>,
    at: At,
}

/// Two sessions on one database, and who lets them go on.
pub(crate) struct Walker {
    control: Client,
    sessions: [Session; 2],
}

impl Walker {
    pub(crate) async fn new(database: &TestDatabase) -> Self {
        let control = database.client().await;
        control.batch_execute("set deadlock_timeout = '50ms'").await.unwrap();
        let sessions = [session(database, 1).await, session(database, 2).await];
        Self { control, sessions }
    }

    /// Makes both calls, and lets one of them go on after the other until both have ended. Wherever both could go on, the next
    /// of the given choices says which one does; when there are none left, the first one. Answers the choices that were
    /// made, and how the calls ended.
    pub(crate) async fn walk(
        &mut self,
        choices: &[usize],
        calls: [Call; 2],
    ) -> (Vec<usize>, [Result<(), StoreError>; 2]) {
        self.close_points().await;
        for (session, call) in self.sessions.iter_mut().zip(calls) {
            testing::execute(&session.store, "select set_config('kinfolk.walk_step', '0', false)").await.unwrap();
            session.call = Some(call);
            session.at = At::Start;
        }
        let mut made = Vec::new();
        loop {
            let ready: Vec<usize> = (0..2).filter(|who| self.sessions[*who].can_go_on()).collect();
            let who = match ready[..] {
                [] => break,
                [only] => only,
                _ => {
                    let choice = choices.get(made.len()).copied().unwrap_or_default();
                    made.push(choice);
                    choice
                }
            };
            self.go_on(who).await;
        }
        self.control.batch_execute("select pg_advisory_unlock_all()").await.unwrap();
        let [one, other] = &mut self.sessions;
        (made, [end_of(one).await, end_of(other).await])
    }

    /// Lets one session go on to its next point, its end, or a lock that the other one holds.
    async fn go_on(&mut self, who: usize) {
        let session = &mut self.sessions[who];
        let passed = match session.at {
            At::Start => {
                let call = session.call.take().expect("a call to make");
                session.running = Some(tokio::spawn(call(Arc::clone(&session.store))));
                0
            }
            At::Point(step) => {
                let key = session.number * 1000 + step;
                self.control.query_one("select pg_advisory_unlock(1263160999, $1)", &[&key]).await.unwrap();
                step
            }
            At::Blocked | At::End => return,
        };
        self.settle_down(who, passed).await;
    }

    /// Waits until both sessions stand still: at a point, at their end, or blocked by the other.
    async fn settle_down(&mut self, who: usize, passed: i32) {
        let began = Instant::now();
        loop {
            let mut still = true;
            for other in 0..2 {
                let least = if other == who { passed } else { 0 };
                still &= self.look_at(other, least).await;
            }
            if still {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "a session neither goes on nor ends");
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }

    /// Whether a session stands still. One that was just let go on is not believed to stand at the same point still.
    async fn look_at(&mut self, who: usize, passed: i32) -> bool {
        let session = &mut self.sessions[who];
        let Some(running) = &session.running else { return true };
        if running.is_finished() {
            session.at = At::End;
            return true;
        }
        if matches!(session.at, At::Point(step) if step > passed) {
            return true;
        }
        let waits = "select l.classid::bigint, l.objid::bigint \
            from pg_locks l join pg_stat_activity a on a.pid = l.pid \
            where not l.granted and a.datname = current_database() and a.application_name = $1";
        let name = format!("walk {}", session.number);
        let Some(row) = self.control.query_opt(waits, &[&name]).await.unwrap() else { return false };
        let (class, key) = (row.get::<_, Option<i64>>(0), row.get::<_, Option<i64>>(1));
        let step = key.map(|key| i32::try_from(key).unwrap_or_default() - session.number * 1000);
        session.at = match (class, step) {
            (Some(1_263_160_999), Some(step)) if step > passed => At::Point(step),
            (Some(1_263_160_999), _) => return false,
            _ => At::Blocked,
        };
        true
    }

    async fn close_points(&self) {
        let close = "select pg_advisory_lock(1263160999, s * 1000 + n) \
            from generate_series(1, 2) s, generate_series(1, $1::integer) n";
        self.control.query(close, &[&STEPS_MAX]).await.unwrap();
    }
}

impl Session {
    fn can_go_on(&self) -> bool {
        matches!(self.at, At::Start | At::Point(_))
    }
}

async fn session(database: &TestDatabase, number: i32) -> Session {
    let url = format!("{}?options=-c%20kinfolk.walk%3D{number}%20-c%20deadlock_timeout%3D50", database.url);
    let options = PgOptions { pool_size: 1, application_name: format!("walk {number}"), ..PgOptions::default() };
    let store = Arc::new(PgStore::connect(&url, options).await.unwrap());
    Session { number, store, running: None, call: None, at: At::End }
}

async fn end_of(session: &mut Session) -> Result<(), StoreError> {
    session.running.take().expect("a call that was made").await.expect("no panic in the call")
}

/// The choices to make next, so that in the end every schedule was walked once: the last choice that could have been another
/// one is.
pub(crate) fn next_choices(mut made: Vec<usize>) -> Option<Vec<usize>> {
    while let Some(last) = made.pop() {
        if last == 0 {
            made.push(1);
            return Some(made);
        }
    }
    None
}
