//! Which page of a log is shown.

/// The options of a log, which is shown newest first.
#[derive(clap::Args, Debug)]
pub(super) struct LogPage {
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(super) limit: u16,

    /// Only entries before the one of this number
    #[arg(long, value_name = "NUMBER")]
    pub(super) before: Option<i64>,
}
