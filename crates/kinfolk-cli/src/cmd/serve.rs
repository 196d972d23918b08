//! `kinfolk serve`: the HTTP API and the pages, and a worker beside them, in one process.

mod config;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kinfolk::StopRequests;
use kinfolk_web::{Measures, Refusal, Server};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::replay;
use super::work::{self, Hire};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::session::Session;

pub(crate) use self::config::WebConfig;

/// `kinfolk serve`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Only show: no worker, and nothing can be changed
    #[arg(long, conflicts_with_all = ["queue", "capacity", "allow_shell"])]
    read_only: bool,

    /// Serve the files of this folder under /app/: pages of your own, which may ask the API
    #[arg(long, value_name = "FOLDER")]
    pages: Option<PathBuf>,

    #[command(flatten)]
    hire: Hire,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let mut stops = StopRequests::listen();
    let config = args.hire.config()?;
    let web = config.web.server()?.read_only(args.read_only).measures(Some(measure()?));
    let web = match &args.pages {
        Some(folder) => {
            let name = folder.display().to_string();
            web.pages_from(folder).map_err(|fault| Fault::unreadable("pages", &name, &fault))?
        }
        None => web,
    };
    let store = if args.read_only { session.open().await? } else { session.open_or_create().await? };
    let handlers = Arc::clone(&store);
    let web = web.replays(move |id| replay::for_server(Arc::clone(&handlers), id));
    let server = Server::bind(args.listen, Arc::clone(&store), web).await?;
    if args.read_only {
        let serving = Serving::start(server)?;
        session.out.hint(format_args!("http://{}/", serving.address));
        session.out.hint("only showing; Ctrl-C to stop");
        stops.next().await;
        return serving.stop().await;
    }
    // The worker comes first: it registers its commands, and the first request may enqueue one of them.
    let (crew, queues) = args.hire.start(&config, store, session).await?;
    let serving = Serving::start(server)?;
    session.out.hint(format_args!("http://{}/", serving.address));
    session.out.hint(format_args!("{}; Ctrl-C to stop", work::sentence(&crew, &queues).await?));
    tokio::select! {
        () = stops.next() => session.out.hint("stopping: what runs may finish; Ctrl-C again to end at once"),
        grown = crew.grow(queues) => grown?,
    }
    let stopped = work::stop(&crew, &mut stops).await;
    serving.stop().await?;
    stopped
}

/// Measures what happens in this process from now on.
pub(crate) fn measure() -> Result<Measures, Fault> {
    kinfolk_web::measure().map_err(|fault| Fault::new(Exit::Internal, "metrics", fault.to_string()))
}

/// A server at work.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    stop: Arc<Notify>,
    running: JoinHandle<()>,
}

impl Serving {
    pub(crate) fn start(server: Server) -> Result<Self, Fault> {
        let (address, stop) = (server.address()?, Arc::new(Notify::new()));
        let stopped = Arc::clone(&stop);
        let running = tokio::spawn(async move { server.run(stopped.notified()).await });
        Ok(Self { address, stop, running })
    }

    /// Ends it, with what is open.
    pub(crate) async fn stop(self) -> Result<(), Fault> {
        self.stop.notify_one();
        self.running.await.map_err(|fault| Fault::new(Exit::Internal, "server", fault.to_string()))
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        match &refusal {
            Refusal::Unguarded(_) => Self::input(refusal.to_string()),
            _ => Self::new(Exit::No, "address", refusal.to_string()),
        }
    }
}
