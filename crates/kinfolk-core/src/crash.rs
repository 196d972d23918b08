//! Named places where a test may kill the process: before and after each commit.
//!
//! Without the feature `crash-points` a point is nothing at all. With it, the variable `KINFOLK_CRASH_AT` names the
//! point at which the process aborts, and with `:n` behind it, at its n-th passing. The fault tests walk [`POINTS`],
//! [`DURABLE_POINTS`], [`GROUP_POINTS`] and [`RUNNER_POINTS`].

/// Every crash point there is, as `verb.moment`. `before`: nothing is committed yet. `after`: it is committed, and
/// nobody has been told.
pub const POINTS: &[&str] = &[
    "enqueue.before",
    "enqueue.after",
    "register_worker.before",
    "register_worker.after",
    "heartbeat.before",
    "heartbeat.after",
    "claim.before",
    "claim.after",
    "settle.before",
    "settle.after",
    "recover.before",
    "recover.after",
    "leave.before",
    "leave.after",
    "fire.before",
    "fire.after",
    "prune.before",
    "prune.after",
    "cancel.before",
    "cancel.after",
    "retry.before",
    "retry.after",
    "acquit.before",
    "acquit.after",
    "retry_family.before",
    "retry_family.after",
    "sweep.before",
    "sweep.after",
    "handler.before",
    "handler.after",
];

/// The crash points that only durable handlers pass.
pub const DURABLE_POINTS: &[&str] = &[
    "record.before",
    "record.after",
    "suspend.before",
    "suspend.after",
    "expire.before",
    "expire.after",
    "take_signal.before",
    "take_signal.after",
    "signal.before",
    "signal.after",
];

/// The crash points that only groups pass.
pub const GROUP_POINTS: &[&str] = &[
    "set_group.before",
    "set_group.after",
    "remove_group.before",
    "remove_group.after",
    "slow_down.before",
    "slow_down.after",
];

/// The crash points that only commands with a handler in PostgreSQL pass, and messages that go out from there.
pub const RUNNER_POINTS: &[&str] = &[
    "function.before",
    "function.after",
    "begin_send.before",
    "begin_send.after",
    "provider.before",
    "provider.after",
    "end_send.before",
    "end_send.after",
];

/// Passes a crash point.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub fn point(_name: &'static str) {}

/// Passes a crash point; aborts the process if this is the one it was told to die at.
#[cfg(feature = "crash-points")]
pub fn point(name: &'static str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static TARGET: LazyLock<Option<(String, AtomicU64)>> = LazyLock::new(|| {
        let told = std::env::var("KINFOLK_CRASH_AT").ok()?;
        let (name, passings) = told.split_once(':').unwrap_or((&told, "1"));
        Some((name.to_owned(), AtomicU64::new(passings.parse().unwrap_or(1))))
    });
    let is_listed = [POINTS, DURABLE_POINTS, GROUP_POINTS, RUNNER_POINTS].iter().any(|points| points.contains(&name));
    debug_assert!(is_listed, "unlisted crash point {name}");
    if let Some((target, left)) = &*TARGET
        && target == name
        && left.fetch_sub(1, Ordering::SeqCst) == 1
    {
        std::process::abort();
    }
}
