//! Whether anything is going on among some commands, for a front end that shows it.

use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use kinfolk_core::{CommandName, Status, StatusName, StoreError, Timestamp};

use crate::backoff::Backoff;
use crate::kinfolk::Kinfolk;

const FIRST_LOOK: Duration = Duration::from_millis(20);
const SLOWEST_LOOK: Duration = Duration::from_millis(500);

impl Kinfolk {
    /// Whether a task of one of these commands is at work or ready to be: running, waiting, or pending and not merely
    /// scheduled for later.
    pub async fn is_active(&self, commands: &[CommandName]) -> Result<bool, StoreError> {
        self.store().is_active(commands).await
    }

    /// Says whether these commands are active, now and whenever that has changed.
    ///
    /// The store is asked, with pauses of up to half a second, so activity that is shorter may go unseen, unless a worker
    /// of this very handle is at it: [`Kinfolk::watch_status`] misses none. An error is told once; the next item comes when
    /// the store answers again.
    ///
    /// ```no_run
    /// # async fn example(kinfolk: kinfolk::Kinfolk) -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::StreamExt;
    ///
    /// let mut activity = std::pin::pin!(kinfolk.watch_active(&["derive".parse()?, "report".parse()?]));
    /// while let Some(active) = activity.next().await {
    ///     println!("{}", if active? { "working" } else { "idle" });
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch_active(
        &self,
        commands: &[CommandName],
    ) -> impl Stream<Item = Result<bool, StoreError>> + Send + use<> {
        let watch = Watch {
            kinfolk: self.clone(),
            commands: commands.to_vec(),
            told: Told::Nothing,
            look: Backoff::new(FIRST_LOOK, SLOWEST_LOOK),
        };
        unfold(watch, |mut watch| async { Some((watch.next().await, watch)) })
    }

    /// Says whether a status is active, now and whenever that has changed. A task that started and ended between two looks
    /// at the status is told too: as active, and then as idle again.
    ///
    /// Workers look at the statuses, a few times a second at most, and the store is asked what they saw. An error, as that
    /// there is no such status, is told once; the next item comes when there is something to tell.
    ///
    /// ```no_run
    /// # async fn example(kinfolk: kinfolk::Kinfolk) -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::StreamExt;
    ///
    /// let name = "deriving".parse()?;
    /// kinfolk.put_status(&name, &["derive".parse()?]).await?;
    /// let mut turns = std::pin::pin!(kinfolk.watch_status(&name));
    /// while let Some(active) = turns.next().await {
    ///     if !active? {
    ///         println!("what was derived is new: read it again");
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch_status(&self, name: &StatusName) -> impl Stream<Item = Result<bool, StoreError>> + Send + use<> {
        let watch = StatusWatch {
            kinfolk: self.clone(),
            name: name.clone(),
            seen: None,
            owed: None,
            in_trouble: false,
            look: Backoff::new(FIRST_LOOK, SLOWEST_LOOK),
        };
        unfold(watch, |mut watch| async { Some((watch.next().await, watch)) })
    }

    /// Makes a status, or changes what it watches. Workers look at it whenever they have claimed or settled something, and
    /// report when it turns; on PostgreSQL the notification channel `kinfolk_status` does, too.
    pub async fn put_status(&self, name: &StatusName, commands: &[CommandName]) -> Result<(), StoreError> {
        self.store().put_status(name, commands).await
    }

    /// Removes a status.
    pub async fn remove_status(&self, name: &StatusName) -> Result<(), StoreError> {
        self.store().remove_status(name).await
    }

    /// All statuses, by name, as they were last looked at.
    pub async fn statuses(&self) -> Result<Vec<Status>, StoreError> {
        self.store().statuses().await
    }
}

/// A watcher of commands.
struct Watch {
    kinfolk: Kinfolk,
    commands: Vec<CommandName>,
    told: Told,
    look: Backoff,
}

/// The last news of a watcher.
#[derive(PartialEq, Eq)]
enum Told {
    Nothing,
    Active(bool),
    Trouble,
}

impl Watch {
    /// The next thing to tell.
    async fn next(&mut self) -> Result<bool, StoreError> {
        let kinfolk = self.kinfolk.clone();
        let _here = kinfolk.settlements.waiter();
        loop {
            let settled = kinfolk.settlements.changed.notified();
            tokio::pin!(settled);
            settled.as_mut().enable();
            match kinfolk.is_active(&self.commands).await {
                Ok(active) if self.told != Told::Active(active) => {
                    self.told = Told::Active(active);
                    self.look.reset();
                    return Ok(active);
                }
                Ok(_) => {}
                Err(fault) if self.told != Told::Trouble => {
                    self.told = Told::Trouble;
                    return Err(fault);
                }
                Err(_) => {}
            }
            let _ = tokio::time::timeout(self.look.pause(2), settled).await;
        }
    }
}

/// A watcher of a status.
struct StatusWatch {
    kinfolk: Kinfolk,
    name: StatusName,
    /// Whether it was active when it was last seen, and since when.
    seen: Option<(bool, Timestamp)>,
    /// The next news to tell, after the status has turned and turned back.
    owed: Option<bool>,
    in_trouble: bool,
    look: Backoff,
}

impl StatusWatch {
    /// The next thing to tell.
    async fn next(&mut self) -> Result<bool, StoreError> {
        if let Some(active) = self.owed.take() {
            return Ok(active);
        }
        loop {
            match self.find().await {
                Ok(status) => {
                    self.in_trouble = false;
                    if let Some(active) = self.turn(&status) {
                        self.look.reset();
                        return Ok(active);
                    }
                }
                Err(fault) if !self.in_trouble => {
                    self.in_trouble = true;
                    return Err(fault);
                }
                Err(_) => {}
            }
            tokio::time::sleep(self.look.pause(2)).await;
        }
    }

    async fn find(&self) -> Result<Status, StoreError> {
        let statuses = self.kinfolk.statuses().await?;
        let found = statuses.into_iter().find(|status| status.name == self.name);
        found.ok_or_else(|| StoreError::not_found("status", &self.name))
    }

    /// The news in a look at the status, if there is any. Its moment says that it has turned even if it is as it was.
    fn turn(&mut self, status: &Status) -> Option<bool> {
        let now = (status.active, status.changed_at);
        match self.seen.replace(now) {
            Some(before) if before == now => None,
            Some((active, _)) if active == status.active => {
                self.owed = Some(active);
                Some(!active)
            }
            _ => Some(status.active),
        }
    }
}
