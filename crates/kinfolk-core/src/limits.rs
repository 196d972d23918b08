//! Every limit of the engine, in one place. The stores enforce the same numbers; PostgreSQL gets them
//! as the generated file `limits.sql` (a test holds the two together).

use std::time::Duration;

/// Longest name of a command, a queue or a schedule, in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Longest unique key, in bytes.
pub const UNIQUE_KEY_BYTES_MAX: usize = 200;
/// Largest payload, as canonical JSON, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1024;
/// Largest result, as canonical JSON, in bytes.
pub const RESULT_BYTES_MAX: usize = 256 * 1024;
/// Longest error message kept, in bytes; the rest is cut, and the cut is marked.
pub const ERROR_BYTES_MAX: usize = 4 * 1024;
/// Deepest nesting of a JSON value.
pub const JSON_DEPTH_MAX: usize = 100;
/// Longest number in a JSON value once written without exponent, in characters.
pub const NUMBER_CHARS_MAX: usize = 400;
/// Most digits before the point of a number in a JSON value: a larger number can't be read as a floating-point number.
pub const NUMBER_DIGITS_MAX: usize = 308;
/// Most tasks in one enqueue call.
pub const ENQUEUE_BATCH_MAX: usize = 10_000;
/// Most tasks that one claim call takes.
pub const CLAIM_BATCH_MAX: usize = 1_000;
/// Most settles in one call.
pub const SETTLE_BATCH_MAX: usize = 1_000;
/// Most tasks on one page of a listing.
pub const PAGE_MAX: usize = 1_000;
/// Most tasks that one page of a listing looks at, and most that a count counts.
pub const LOOK_MAX: usize = 10_000;

/// Runs of one task that are shown together, the latest of them.
pub const RUNS_SHOWN_MAX: usize = 1_000;
/// Most commands that one worker handles.
pub const WORKER_COMMANDS_MAX: usize = 1_000;
/// Attempts of a task where neither the task nor its command says how many.
pub const ATTEMPTS_DEFAULT: u16 = 10;
/// Most attempts a policy may allow.
pub const ATTEMPTS_MAX: u16 = 1_000;
/// Largest distance of a priority from zero.
pub const PRIORITY_ABS_MAX: i32 = 1_000_000;
/// Furthest in the future that a task may be due, a snooze may end or a backoff may last.
pub const DELAY_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 3600);
/// Longest `timeout` of a task.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(366 * 24 * 3600);
/// Longest trace context taken along with a task, in bytes.
pub const TRACE_BYTES_MAX: usize = 256;
/// Shortest and longest lease of a worker.
pub const LEASE_MIN: Duration = Duration::from_secs(1);
/// Longest lease of a worker.
pub const LEASE_MAX: Duration = Duration::from_secs(3600);
/// Most strikes a policy may allow.
pub const STRIKES_MAX: u16 = 1_000;
/// How long a task waits after its first strike; twice as long after each further one.
pub const STRIKE_DELAY_FIRST: Duration = Duration::from_secs(1);
/// No task waits longer after a strike.
pub const STRIKE_DELAY_MAX: Duration = Duration::from_secs(300);
/// Tasks recovered, opened, pruned or merged by one statement; longer work goes in pages.
pub const SWEEP_PAGE: usize = 1_000;
/// Missed runs of a schedule that are made up for at once, at most.
pub const CATCH_UP_MAX: usize = 100;
/// Longest cron line, in bytes.
pub const CRON_BYTES_MAX: usize = 200;
/// Deepest that a family may grow: generations below its root. Also the default of a queue.
pub const DEPTH_MAX: u16 = 32;
/// Most tasks that one handler makes in one attempt: children, siblings, follow-ups and others.
pub const MADE_MAX: usize = 100_000;
/// Most commands that one status watches.
pub const STATUS_COMMANDS_MAX: usize = 1_000;
/// Longest name of an SQL function that handles a command, in bytes.
pub const FUNCTION_BYTES_MAX: usize = 256;
/// Longest path of a payload that a command names for its labels, in bytes.
pub const LABEL_PATH_BYTES_MAX: usize = 256;
/// Letters of a label that are shown.
pub const LABEL_CHARS_MAX: usize = 80;
/// Most checkpoints that one task may have.
pub const STEPS_MAX: usize = 10_000;
/// Most checkpoints in one call.
pub const RECORD_BATCH_MAX: usize = 1_000;
/// Fan-outs of at most this many children have their results in the history that a handler is resumed with.
pub const INLINE_RESULTS_MAX: usize = 32;
/// Most signals of one task that its handler has not taken yet.
pub const SIGNALS_KEPT_MAX: usize = 1_000;
/// Most signals that one suspended handler waits for.
pub const SIGNALS_AWAITED_MAX: usize = 100;
/// Most groups that a command declares, and most keys of a task.
pub const GROUPS_MAX: usize = 16;
/// Longest key in a group, in bytes.
pub const GROUP_KEY_BYTES_MAX: usize = 200;
/// Most slots that a key may have.
pub const GROUP_LIMIT_MAX: u32 = 1_000_000;
/// Largest number of starts, and of starts at once, in a rate.
pub const RATE_MAX: u32 = 1_000_000;
/// Longest span of a rate.
pub const RATE_SPAN_MAX: Duration = Duration::from_secs(31 * 24 * 3600);
/// How often a task is sent from one full key to another before room is kept for it.
pub const FAILED_TRIES_MAX: u16 = 16;
/// How many of the tasks that hold something are named when it is shown.
pub const HOLDERS_SHOWN_MAX: usize = 20;
/// How long entries of the audit log are kept.
pub const AUDIT_KEPT: Duration = Duration::from_secs(90 * 24 * 3600);
/// How long entries of the error log are kept.
pub const ERRORS_KEPT: Duration = Duration::from_secs(90 * 24 * 3600);
/// Longest text in an entry of the audit log, in bytes; the rest is cut.
pub const AUDIT_BYTES_MAX: usize = 1_000;
/// How long the figures of a minute are kept.
pub const MINUTES_KEPT: Duration = Duration::from_secs(6 * 3600);
/// Most minute records of what a worker did in one call, each of one command on one queue.
pub const MINUTE_RECORDS_MAX: usize = 1_000;
/// Longest note in a report of progress, in bytes.
pub const PROGRESS_NOTE_BYTES_MAX: usize = 1_000;
