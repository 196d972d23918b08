//! `kinfolk demo`: the orders of a small web shop, day after day, on a store of its own.
//!
//! It uses nothing but the public library, so it can be read as an example: what becomes of an order is in [`workflow`], the
//! handlers of its sub-tasks in [`shop`], both links to files of the library's example, since a package holds what is in its own
//! folder; a day's orders are in [`day`], what is seen in [`screen`], and the count at the end in [`summary`]. Everything it knows
//! is in the store: killed at any moment and started again, it goes on with the day it had begun.

mod chores;
mod day;
pub(crate) mod email;
mod errands;
mod look;
pub(crate) mod register;
mod screen;
mod shop;
mod story;
mod summary;
mod web;
mod workflow;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kinfolk::core::Event;
use kinfolk::{Kinfolk, StopRequests, Task, WorkerBuilder, WorkerHandle};
use owo_colors::OwoColorize as _;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use self::day::Day;
use self::look::Look;
use self::screen::Screen;
use self::story::Story;
use self::summary::Summary;
use crate::builtin::VERSION;
use crate::cmd::serve::Serving;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::out::terminal;
use crate::session::Session;

/// The commands of the shop.
pub(crate) const COMMANDS: [&str; 7] = [
    workflow::ProcessOrder::COMMAND,
    shop::ValidateOrder::COMMAND,
    shop::PackItem::COMMAND,
    shop::SendNotification::COMMAND,
    shop::SendInvoice::COMMAND,
    shop::FinalizeOrder::COMMAND,
    shop::AskForReview::COMMAND,
];

/// How often the screen is drawn anew.
const FRAME: Duration = Duration::from_millis(100);
/// A day takes seconds. One that takes this long is stuck.
const PATIENCE: Duration = Duration::from_secs(300);

/// Adds the shop's handlers to a worker.
pub(crate) fn handlers(worker: WorkerBuilder) -> WorkerBuilder {
    worker
        .handle(workflow::process_order)
        .handle(shop::validate_order)
        .handle(shop::pack_item)
        .handle(shop::send_notification)
        .handle(shop::send_invoice)
        .handle(shop::finalize_order)
        .handle(shop::ask_for_review)
}

/// Runs one day, or day after day until it is told to stop.
pub(crate) async fn run(session: &Session, once: bool, orders: u32, pages: bool) -> Result<(), Fault> {
    let mut stops = StopRequests::listen();
    let store = session.open_or_create().await?;
    store.migrate().await?;
    let web = if pages { Some(web::start(&store).await?) } else { None };
    if let Some(web) = &web {
        address(session, web)?;
    }
    let kinfolk = Kinfolk::new(store);
    let mut demo = Demo::begin(&kinfolk, session, orders, once).await?;
    let ended = tokio::select! {
        ended = demo.play(once, orders) => ended,
        () = stops.next() => Ok(DemoEnd::Stopped),
    };
    let served = match web {
        Some(web) => web.stop().await,
        None => Ok(()),
    };
    demo.end(ended?, once, &mut stops).await.and(served)
}

/// Where the pages are, before anything else.
fn address(session: &Session, web: &Serving) -> Result<(), Fault> {
    let address = format!("http://{}/", web.address);
    if session.out.json() {
        // The program's JSON is on the other stream, and nothing else is on it.
        terminal::complain(&address);
        return Ok(());
    }
    session.out.line(format_args!("{} {}", "open".dimmed(), address.bold()))
}

/// How the play ended.
enum DemoEnd {
    /// The day is over.
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
    day: Day,
    started: Instant,
}

impl<'a> Demo<'a> {
    /// Starts the worker, and the day unless one is under way.
    async fn begin(kinfolk: &Kinfolk, session: &'a Session, orders: u32, once: bool) -> Result<Self, Fault> {
        let store = kinfolk.store().as_ref();
        let latest = Day::latest(store).await?;
        let goes_on = match latest {
            Some(day) => day.stored(store).await?.iter().any(|task| !task.state.is_terminal()),
            None => false,
        };
        let day = match latest {
            Some(day) if goes_on => day,
            latest => Day { number: latest.map_or(1, |day| day.number + 1), orders },
        };
        let (told, events) = mpsc::unbounded_channel();
        let worker = worker(kinfolk, once, move |event| drop(told.send(event.clone()))).await?;
        greet(session, day, goes_on)?;
        if !goes_on {
            kinfolk.enqueue_many(&day.tasks()?).await?;
        }
        if !once {
            errands::call(kinfolk, day.number).await?;
        }
        let (screen, story) = (Screen::new(session.out), Story::default());
        Ok(Self { session, kinfolk: kinfolk.clone(), worker, events, screen, story, day, started: Instant::now() })
    }

    /// Follows the day to its end, and begins the next one unless one was enough.
    async fn play(&mut self, once: bool, orders: u32) -> Result<DemoEnd, Fault> {
        let store = Arc::clone(self.kinfolk.store());
        let mut frame = tokio::time::interval(FRAME);
        loop {
            frame.tick().await;
            let look = Look::at(self.day, store.as_ref()).await?;
            for family in &look.at_work {
                chores::attend(family, look.now, &self.kinfolk, &self.screen).await?;
            }
            while let Ok(event) = self.events.try_recv() {
                self.story.tell(&event, store.as_ref(), &mut self.screen).await?;
            }
            self.screen.update(&look)?;
            if look.open == 0 {
                if once {
                    return Ok(DemoEnd::Over);
                }
                self.day = Day { number: self.day.number + 1, orders };
                self.screen.event(&format!("{} day {} begins", "☀".yellow(), self.day.number))?;
                self.kinfolk.enqueue_many(&self.day.tasks()?).await?;
                errands::call(&self.kinfolk, self.day.number).await?;
            }
            if once && self.started.elapsed() > PATIENCE {
                return Err(Fault::no("demo", "the day does not end; look at it with `kinfolk doctor`"));
            }
        }
    }

    /// Lets the worker finish what it runs, and says how it went.
    async fn end(self, ended: DemoEnd, once: bool, stops: &mut StopRequests) -> Result<(), Fault> {
        let took = self.started.elapsed();
        self.screen.close();
        tokio::select! {
            stopped = self.worker.stop() => stopped?,
            () = stops.next() => {
                self.worker.kill().await?;
                return Err(Fault::silent(Exit::Interrupted));
            }
        }
        let store = self.kinfolk.store().as_ref();
        if let DemoEnd::Over = ended {
            return Summary::of(self.day, store, took).await?.print(self.session);
        }
        let left = Look::at(self.day, store).await?.open;
        let day = self.day.number;
        let text = format!("stopped in day {day}: {left} orders are left, the next `demo` goes on with them");
        if !once {
            self.session.out.say(&serde_json::json!({"day": day, "left": left}), &text)?;
        }
        if !self.session.out.json() {
            Summary::of(self.day, store, took).await?.what_next(self.session)?;
        }
        match once {
            true => Err(Fault::new(Exit::Interrupted, "interrupted", text)),
            false => Ok(()),
        }
    }
}

/// A worker with all the shop's handlers. Its lease is short, so that a killed demo is soon taken over.
async fn worker(
    kinfolk: &Kinfolk,
    once: bool,
    told: impl Fn(&Event) + Send + Sync + 'static,
) -> Result<WorkerHandle, Fault> {
    Ok(errands::handlers(handlers(kinfolk.worker().version(VERSION)), once)
        .queue("shop.orders", 8)
        .queue("shop.packing", 5)
        .queue("shop.mail", 3)
        .lease(Duration::from_secs(3))
        .heartbeat(Duration::from_secs(1))
        .on_event(told)
        .start()
        .await?)
}

fn greet(session: &Session, day: Day, goes_on: bool) -> Result<(), Fault> {
    if session.out.json() {
        return Ok(());
    }
    let what = match goes_on {
        true => format!("goes on with day {} of the shop", day.number),
        false => format!("day {} of a small web shop", day.number),
    };
    session.out.line(format_args!(
        "{} {what}: {} orders on {}",
        "kinfolk demo".bold(),
        day.orders,
        session.target()?.shown()
    ))?;
    let watch = session.command_line("watch");
    let kill = format!("kill -9 {}", std::process::id());
    session.out.line("Ctrl-C stops it. In a second terminal you can type:")?;
    session.out.line(format_args!("  {watch}\n  {kill}  {}\n", "# then start it again: nothing is lost".dimmed()))
}
