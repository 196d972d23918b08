//! `#[derive(Task)]`, as the crate `kinfolk` exports it.
//!
//! The code that it writes can be written by hand as briefly: see `kinfolk::Task`. It decides nothing: names and limits are checked by
//! constants of `kinfolk::derived`, so that a mistake is told by the compiler, where it was made.

mod attributes;
mod derive;
mod span;

use proc_macro::TokenStream;

/// Makes a type a task: `kinfolk::Task`. The type must be `Serialize` and `Deserialize` too.
///
/// ```ignore
/// #[derive(Serialize, Deserialize, Task)]
/// #[task(command = "send_invoice", output = Receipt, queue = "mail", priority = -5, attempts = 4)]
/// #[task(backoff = "2s..10m", timeout = "30s", groups(tenant = 20, provider(rate = "10/s", shared)))]
/// #[task(unique(scope = "active", on_duplicate = "replace"))]
/// struct SendInvoice {
///     #[task(unique)]
///     number: u64,
///     #[task(key)]
///     tenant: String,
///     #[task(key = "provider")]
///     through: Option<String>,
/// }
/// ```
///
/// | on the type | |
/// |---|---|
/// | `command = "name"` | the name of the command; the only one that must be there |
/// | `output = Type` | the result; `()` if nothing is said |
/// | `queue = "name"` | where its tasks wait |
/// | `label = "customer.name"` | the path of the payload to the label of a task, which people see beside its command |
/// | `priority = -5` | lower goes first |
/// | `attempts = 4` | attempts in all |
/// | `backoff = "2s..10m"` | the first delay, and the longest; `"2s"` alone is the first |
/// | `timeout = "30s"` | how long one attempt may run |
/// | `groups(tenant = 20, …)` | a limit for each key of a group, or `provider(limit = 5, rate = "10/s", burst = 20, shared, hold)` |
/// | `unique` | at most one task waits to start |
/// | `unique(scope = "active")` | the key is held until the task has ended; `window = "1h"` for that span |
/// | `unique(on_duplicate = "replace")` | the payload of the task in place is replaced, or merged (`"merge"`) |
/// | `crate = path` | the crate `kinfolk`, where it has another name |
///
/// | on a field | |
/// |---|---|
/// | `unique` | a part of the unique key |
/// | `key`, `key = "group"` | the key in the group of that name; a field that is `None` gives no key |
///
/// Spans of time are `"250ms"`, `"30s"`, `"5m"`, `"2h"`, `"7d"`.
#[proc_macro_derive(Task, attributes(task))]
pub fn task(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    derive::task(&input).unwrap_or_else(|fault| fault.to_compile_error()).into()
}
