//! A database with the module `comms`, and workers that may do nothing else.

use std::time::Duration;

use kinfolk::{Kinfolk, WorkerHandle};
use kinfolk_postgres::{Connections, PgOptions};
use kinfolk_providers::Providers;
use kinfolk_runner::{MODULES, SqlCommands};

use crate::lab::{Lab, within};

/// A database with the module, and a log-in that is a member of `kinfolk_worker` alone.
pub(crate) struct Office {
    pub(crate) lab: Lab,
    role: String,
}

impl Office {
    pub(crate) async fn new() -> Self {
        let lab = Lab::new("").await;
        let connections = Connections::open(&lab.database.url, &PgOptions::default()).unwrap();
        assert!(MODULES[0].install(&connections).await.unwrap());
        assert!(!MODULES[0].install(&connections).await.unwrap(), "a second time changes nothing");
        assert_eq!(MODULES[0].installed(&connections).await.unwrap(), Some(1));
        let role = format!("worker_{}", lab.database.name());
        lab.database.run(&format!("create role {role} login in role kinfolk_worker")).await;
        Self { lab, role }
    }

    /// A worker that logs in as that role.
    pub(crate) async fn worker(&self, providers: Providers) -> WorkerHandle {
        let url = self.lab.database.url.replace("postgres://postgres@", &format!("postgres://{}@", self.role));
        assert!(url.contains(&self.role), "{url}");
        let options = PgOptions { pool_size: 4, ..PgOptions::default() };
        let commands = SqlCommands::open_with(&url, &options, providers).unwrap();
        let kinfolk = Kinfolk::open(&url).await.unwrap();
        let worker = kinfolk.worker().poll(Duration::from_millis(50)).queue("default", 4);
        worker.commands_from(commands).start().await.unwrap()
    }

    /// Starts the process of one email.
    pub(crate) async fn kickoff(&self, more: &str) {
        let sql = format!(
            "select comms.kickoff_send_email_task(comms.create_email_message('ann@example.org', 'Paid', 'Thank you.') {more})"
        );
        self.lab.database.run(&sql).await;
    }

    pub(crate) async fn count(&self, of: &str) -> String {
        self.lab.database.texts(&format!("select count(*)::text from {of}")).await.remove(0)
    }

    pub(crate) async fn facts(&self) -> [String; 3] {
        let [scheduled, failed, succeeded] =
            ["scheduled", "failed", "succeeded"].map(|fact| format!("comms.send_email_task_{fact}"));
        [self.count(&scheduled).await, self.count(&failed).await, self.count(&succeeded).await]
    }

    pub(crate) async fn until_succeeded(&self) {
        self.lab.until("select count(*)::text from comms.send_email_task_succeeded", "1").await;
        self.lab.until("select count(*)::text from kinfolk.tasks where state in ('pending', 'running')", "0").await;
    }

    /// Stops a worker, and removes everything.
    pub(crate) async fn close(self, worker: WorkerHandle) {
        self.stop(worker).await;
        self.remove().await;
    }

    /// Stops a worker; nothing is broken.
    pub(crate) async fn stop(&self, worker: WorkerHandle) {
        within(worker.stop()).await.unwrap();
        assert_eq!(self.lab.kinfolk.store().check().await.unwrap(), []);
    }

    /// Removes what belongs to the whole cluster.
    pub(crate) async fn remove(self) {
        let role = &self.role;
        self.lab.database.run(&format!("drop owned by {role} cascade; drop role {role}")).await;
    }
}
