//! `kinfolk demo`: a small web shop, night after night, on a store of its own.
//!
//! It uses nothing but the public library, so it can be read as an example: the tasks are in [`shop`], a night's work in
//! [`night`], what is seen in [`screen`], and the count at the end in [`summary`]. Everything it knows is in the store:
//! killed at any moment and started again, it goes on with the night it had begun.

mod chores;
mod night;
mod screen;
mod shop;
mod story;
mod summary;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kinfolk::core::Event;
use kinfolk::{CommandName, Json, Kinfolk, NewTask, Schedule, ScheduleName, Store, Task, WorkerHandle};
use owo_colors::OwoColorize as _;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use self::night::Night;
use self::screen::{Lines, Screen, lines_of};
use self::story::Story;
use self::summary::Summary;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::session::Session;
use crate::stop::Signals;

/// How often the screen is drawn anew.
const FRAME: Duration = Duration::from_millis(100);
/// A night takes seconds. One that takes this long is stuck.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs one night, or night after night until it is told to stop.
pub(crate) async fn run(session: &Session, once: bool, tasks: u32) -> Result<(), Fault> {
    let mut signals = Signals::listen()?;
    let store = session.open_or_create().await?;
    store.migrate().await?;
    let kinfolk = Kinfolk::new(store);
    let mut demo = Demo::begin(&kinfolk, session, once, tasks).await?;
    let ended = tokio::select! {
        ended = demo.play(once, tasks) => ended,
        () = signals.next() => Ok(Ended::Stopped),
    };
    demo.end(ended?, once, &mut signals).await
}

/// How the play ended.
enum Ended {
    /// The night is over.
    Over,
    /// Someone asked for its end.
    Stopped,
}

struct Demo<'a> {
    session: &'a Session,
    kinfolk: Kinfolk,
    worker: WorkerHandle,
    events: UnboundedReceiver<Event>,
    screen: Screen,
    story: Story,
    night: Night,
    started: Instant,
}

impl<'a> Demo<'a> {
    /// Starts the worker, and the night unless one is under way.
    async fn begin(kinfolk: &Kinfolk, session: &'a Session, once: bool, tasks: u32) -> Result<Self, Fault> {
        let store = kinfolk.store().as_ref();
        let latest = Night::latest(store).await?;
        let under_way = match latest {
            Some(night) => night.stored(store).await?,
            None => Vec::new(),
        };
        let goes_on = under_way.iter().any(|task| !task.state.is_terminal());
        let night = match latest {
            Some(night) if goes_on => night,
            latest => Night { number: latest.map_or(1, |night| night.number + 1), tasks },
        };
        let before = settled_before(store, if goes_on { &under_way } else { &[] }).await?;

        let (told, events) = mpsc::unbounded_channel();
        let worker = worker(kinfolk, move |event| drop(told.send(event.clone()))).await?;
        greet(session, night, goes_on)?;
        schedule(store, once).await?;
        if !goes_on {
            kinfolk.enqueue_many(&night.tasks()?).await?;
        }
        let screen = Screen::new(session.out, before);
        let kinfolk = kinfolk.clone();
        Ok(Self { session, kinfolk, worker, events, screen, story: Story::default(), night, started: Instant::now() })
    }

    /// Follows the night to its end, and begins the next one unless one was enough.
    async fn play(&mut self, once: bool, tasks: u32) -> Result<Ended, Fault> {
        let store = Arc::clone(self.kinfolk.store());
        let mut frame = tokio::time::interval(FRAME);
        loop {
            frame.tick().await;
            chores::attend(self.night, store.as_ref(), &self.screen).await?;
            let lines = lines_of(&store.stats().await?);
            while let Ok(event) = self.events.try_recv() {
                self.story.tell(&event, store.as_ref(), &mut self.screen).await?;
            }
            self.screen.update(&lines)?;
            if lines.values().all(|line| line.open() == 0) {
                if once {
                    return Ok(Ended::Over);
                }
                self.night = Night { number: self.night.number + 1, tasks };
                self.screen.event(&format!("{} night {} begins", "☾".blue(), self.night.number))?;
                self.kinfolk.enqueue_many(&self.night.tasks()?).await?;
            }
            if once && self.started.elapsed() > PATIENCE {
                return Err(Fault::no("demo", "the night does not end; look at it with `kinfolk doctor`"));
            }
        }
    }

    /// Lets the worker finish what it runs, and says how it went.
    async fn end(self, ended: Ended, once: bool, signals: &mut Signals) -> Result<(), Fault> {
        let took = self.started.elapsed();
        self.screen.close();
        tokio::select! {
            stopped = self.worker.stop() => stopped?,
            () = signals.next() => {
                self.worker.kill().await?;
                return Err(Fault::silent(Exit::Interrupted));
            }
        }
        let store = self.kinfolk.store().as_ref();
        if let Ended::Over = ended {
            return Summary::of(self.night, store, took).await?.print(self.session);
        }
        let left: u64 = lines_of(&store.stats().await?).values().map(|line| line.open()).sum();
        let text =
            format!("stopped in night {}: {left} tasks are left, the next `demo` goes on with them", self.night.number);
        match once {
            true => Err(Fault::new(Exit::Interrupted, "interrupted", text)),
            false => self.session.out.say(&serde_json::json!({"night": self.night.number, "left": left}), text),
        }
    }
}

/// A worker with all the shop's handlers. Its lease is short, so that a killed demo is soon taken over.
async fn worker(kinfolk: &Kinfolk, told: impl Fn(&Event) + Send + Sync + 'static) -> Result<WorkerHandle, Fault> {
    Ok(kinfolk
        .worker()
        .name("kinfolk demo")
        .queue("shop.orders", 4)
        .queue("shop.payments", 4)
        .queue("shop.mail", 3)
        .queue("shop.images", 4)
        .queue("shop.reports", 1)
        .task::<shop::OpenShop>()
        .task::<shop::ChargeCard>()
        .task::<shop::ConfirmOrder>()
        .task::<shop::SendMail>()
        .task::<shop::MakeThumbnail>()
        .task::<shop::NightlyReport>()
        .lease(Duration::from_secs(3))
        .heartbeat(Duration::from_secs(1))
        .on_event(told)
        .start()
        .await?)
}

/// The report at three in the morning; while nights pass in seconds, every twenty seconds.
async fn schedule(store: &dyn Store, once: bool) -> Result<(), Fault> {
    let task =
        NewTask::new(CommandName::new(shop::NightlyReport::COMMAND)?, Json::of(&shop::NightlyReport { night: None })?);
    let cron = if once { "0 3 * * *" } else { "*/20 * * * * *" };
    store.put_schedule(&Schedule::new(ScheduleName::new("nightly-report")?, cron, task)).await?;
    Ok(())
}

/// What earlier nights had settled: everything, except what belongs to the night that goes on.
async fn settled_before(store: &dyn Store, under_way: &[kinfolk::TaskView]) -> Result<Lines, Fault> {
    let mut ours = Lines::new();
    for task in under_way {
        ours.entry(task.command.to_string()).or_default().add(task.state, 1);
    }
    let all = lines_of(&store.stats().await?).into_iter();
    Ok(all
        .map(|(command, line)| (command.clone(), line.beyond(ours.get(&command).copied().unwrap_or_default())))
        .collect())
}

fn greet(session: &Session, night: Night, goes_on: bool) -> Result<(), Fault> {
    if session.out.json() {
        return Ok(());
    }
    let what = match goes_on {
        true => format!("goes on with night {} of the shop", night.number),
        false => format!("night {} of a small web shop", night.number),
    };
    session.out.line(format_args!(
        "{} {what}: {} tasks on {}",
        "kinfolk demo".bold(),
        night.tasks,
        session.target()?.shown()
    ))?;
    session.out.line(format_args!("{}\n", "Kill it with -9 and start it again: nothing is lost.".dimmed()))
}
