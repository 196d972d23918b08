//! `kinfolk graph`: a family as a drawing, in the language of Graphviz or Mermaid.

use kinfolk_core::TaskId;
use kinfolk_web::Graph;
use serde_json::json;

use crate::fault::Fault;
use crate::session::Session;

/// `kinfolk graph ID`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The task whose family below it is drawn
    id: TaskId,

    /// The language
    #[arg(long, value_enum, default_value_t, value_name = "LANGUAGE")]
    format: Language,
}

/// The language of a drawing.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub(crate) enum Language {
    /// Graphviz.
    #[default]
    Dot,
    /// Mermaid.
    Mermaid,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let graph = Graph::of(session.open().await?.as_ref(), args.id).await?;
    let drawn = match args.format {
        Language::Dot => graph.dot(),
        Language::Mermaid => graph.mermaid(),
    };
    let (nodes, cut, not_drawn) = (graph.nodes.len(), graph.cut, graph.not_drawn);
    let all = json!({"task": args.id, "nodes": nodes, "cut": cut, "not_drawn": not_drawn, "graph": drawn});
    session.out.say(&all, drawn.trim_end())
}
