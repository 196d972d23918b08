//! Helpers for the code that `#[derive(Task)]` writes. Other code does not call them.

use std::time::Duration;

use kinfolk_core::limits::ATTEMPTS_MAX;
use kinfolk_core::name::is_name;
use kinfolk_core::{InputError, Keys};

/// The longest delay of a command that says only the first.
pub const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// Stops the compiler at a name that no store would keep.
///
/// ```compile_fail,E0080
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize, kinfolk::Task)]
/// #[task(command = "two words")]
/// struct Greet;
/// ```
pub const fn check_name(name: &str) {
    assert!(is_name(name), "a name has 1 to 128 letters, digits and _ - . : /");
}

/// Stops the compiler at a number of attempts that no store would keep.
pub const fn check_attempts(attempts: u16) {
    assert!(attempts >= 1 && attempts <= ATTEMPTS_MAX, "a task is tried once at least, and 1000 times at most");
}

/// The unique key of several fields: different fields never make the same key.
pub fn unique_key(parts: &[String]) -> String {
    match parts {
        [part] => part.clone(),
        parts => {
            let escaped: Vec<_> = parts.iter().map(|part| part.replace('\\', "\\\\").replace('/', "\\/")).collect();
            escaped.join("/")
        }
    }
}

/// The keys that there are.
pub fn keys<const N: usize>(keys: [(&str, Option<String>); N]) -> Result<Keys, InputError> {
    Keys::of(keys.into_iter().filter_map(|(group, key)| Some((group, key?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_several_fields_never_meet() {
        let key = |parts: &[&str]| unique_key(&parts.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!((key(&["7"]), key(&["a/b"]), key(&["7", "acme"])), ("7".into(), "a/b".into(), "7/acme".into()));
        assert_ne!(key(&["a/b", "c"]), key(&["a", "b/c"]));
        assert_ne!(key(&["a\\", "c"]), key(&["a", "\\/c"]));
    }
}
