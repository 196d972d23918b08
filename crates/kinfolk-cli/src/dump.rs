//! Core dumps: a process that has read secrets leaves none behind.

use kinfolk_providers::Providers;

/// Keeps the memory of this process to itself, once it has providers, whose secrets are in it. Where the system does not take that,
/// the worker works all the same.
pub(crate) fn forbid(providers: &Providers) {
    if providers.email.is_some() || providers.sms.is_some() || providers.http.is_some() {
        forbid_all();
    }
}

#[cfg(target_os = "linux")]
fn forbid_all() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Also where dumps go to a program and no limit on their size counts.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(all(unix, not(target_os = "linux")))]
fn forbid_all() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Core).maximum;
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
}

#[cfg(not(unix))]
fn forbid_all() {}
