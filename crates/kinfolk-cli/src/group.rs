//! Groups, keys and rates as people write and read them: `tenant=20`, `tenant=acme`, `100/1s:20`.

use kinfolk_core::group::{TOTAL, check_key};
use kinfolk_core::{GroupName, GroupRef, Groups, InputError, Keys, Rate, TaskId};

use crate::out::table::harmless;
use crate::session::quoted;
use crate::span;

/// Keys of a task that were given together.
pub(crate) type GivenKeys = Vec<(GroupName, String)>;

/// Reads keys of a task: `tenant=acme`, or `tenant=acme,message=m-1`. All text behind a `=` is the key, up to a comma
/// that another name and a `=` follow.
pub(crate) fn parse_keys(text: &str) -> Result<GivenKeys, InputError> {
    let begins = |index: usize| {
        text[index + 1..].split_once('=').is_some_and(|(name, _)| GroupName::new(name.trim_start()).is_ok())
    };
    let mut keys = Vec::new();
    let mut from = 0;
    let commas = text.match_indices(',').map(|(index, _)| index).filter(|&index| begins(index));
    for end in commas.chain([text.len()]) {
        let (name, key) = named(text[from..end].trim_start(), "a key", "tenant=acme")?;
        check_key(key)?;
        keys.push((name, key.to_owned()));
        from = end + 1;
    }
    Ok(keys)
}

/// All keys of a task; two in one group are a slip of the pen.
pub(crate) fn keys_of<'a>(given: impl Iterator<Item = &'a (GroupName, String)>) -> Result<Keys, InputError> {
    let mut keys = Keys::new();
    for (name, key) in given {
        if let Some(other) = keys.0.insert(name.clone(), key.clone()) {
            return Err(InputError::Other(format!(
                "two keys in group {name}: {other:?} and {key:?}; a task has one at most"
            )));
        }
    }
    keys.check()?;
    Ok(keys)
}

/// Reads the limit of a group: `tenant=20`.
pub(crate) fn parse_limit(text: &str) -> Result<(GroupName, u32), InputError> {
    let (name, limit) = named(text, "a limit", "tenant=20")?;
    Ok((name, parse_slots(limit)?))
}

/// Reads how many may run at once.
pub(crate) fn parse_slots(text: &str) -> Result<u32, InputError> {
    text.parse().map_err(|_| InputError::Other(format!("not a limit: {text:?}; write a number, like 20")))
}

/// Reads the rate of a group: `provider=100/1s:20`.
pub(crate) fn parse_named_rate(text: &str) -> Result<(GroupName, Rate), InputError> {
    let (name, rate) = named(text, "a rate", "provider=100/1s:20")?;
    Ok((name, parse_rate(rate)?))
}

/// Reads a rate: so many in a span, and behind a colon how many at once after a pause (1 unless it is said).
pub(crate) fn parse_rate(text: &str) -> Result<Rate, InputError> {
    let bad = || {
        InputError::Other(format!(
            "not a rate: {text:?}; write it like 100/1s, or 100/1s:20 for 20 at once after a pause"
        ))
    };
    let (count, rest) = text.split_once('/').ok_or_else(bad)?;
    let (per, burst) = rest.split_once(':').unwrap_or((rest, "1"));
    let per = if per.starts_with(|c: char| c.is_ascii_alphabetic()) { format!("1{per}") } else { per.to_owned() };
    Ok(Rate {
        count: count.parse().map_err(|_| bad())?,
        per: span::parse(&per).map_err(|_| bad())?,
        burst: burst.parse().map_err(|_| bad())?,
    })
}

fn named<'a>(text: &'a str, what: &str, example: &str) -> Result<(GroupName, &'a str), InputError> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| InputError::Other(format!("not {what} in a group: {text:?}; write it like {example}")))?;
    Ok((GroupName::new(name)?, value))
}

/// A key of a group, as `kinfolk groups keys --after` takes it: `tenant@mail=acme`, or `tenant=acme` for a shared group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor(pub(crate) GroupRef, pub(crate) String);

/// Reads it.
pub(crate) fn parse_cursor(text: &str) -> Result<Cursor, InputError> {
    let bad = || InputError::Other(format!("not a key of a group: {text:?}; write it like tenant@mail=acme"));
    let (group, key) = text.split_once('=').ok_or_else(bad)?;
    Ok(match group.split_once('@') {
        Some((name, command)) => Cursor(GroupRef::of(command.parse()?, name.parse()?), key.to_owned()),
        None => Cursor(GroupRef::shared(group.parse()?), key.to_owned()),
    })
}

/// Writes it, for a shell.
pub(crate) fn cursor(group: &GroupRef, key: &str) -> String {
    let command = group.command.as_ref().map(|command| format!("@{command}")).unwrap_or_default();
    quoted(&format!("{}{command}={key}", group.name))
}

/// The options of a command line that name this group, and one key of it.
pub(crate) fn options(group: &GroupRef, key: Option<&str>) -> String {
    let mut words = group.name.to_string();
    if let Some(command) = &group.command {
        words.push_str(&format!(" --command {command}"));
    }
    // A command's total has no keys.
    if let Some(key) = key.filter(|_| group.name.as_str() != TOTAL) {
        // A word that begins with a dash would be taken for an option.
        let space = if key.starts_with('-') { '=' } else { ' ' };
        words.push_str(&format!(" --key{space}{}", quoted(key)));
    }
    words
}

/// `tenant=acme, message=m-1`.
pub(crate) fn keys_words(keys: &Keys) -> String {
    let words = keys.0.iter().map(|(name, key)| format!("{name}={}", harmless(key)));
    words.collect::<Vec<_>>().join(", ")
}

/// `message 1, provider 100 in 1 s`: the limit, or the rate where there is none.
pub(crate) fn groups_words(groups: &Groups) -> String {
    let words = groups.0.iter().map(|(name, spec)| match (spec.limit, spec.rate) {
        (Some(limit), _) => format!("{name} {limit}"),
        (None, Some(rate)) => format!("{name} {} in {}", rate.count, span::show(rate.per)),
        (None, None) => name.to_string(),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// `100 in 1 s, 20 at once`.
pub(crate) fn rate_words(rate: Rate) -> String {
    format!("{} in {}, {} at once", rate.count, span::show(rate.per), rate.burst)
}

/// `3, 5, 9 and 17 more`: the first of so many tasks.
pub(crate) fn task_words(tasks: &[TaskId], shown: usize, total: u64) -> String {
    let first: Vec<_> = tasks.iter().take(shown).map(ToString::to_string).collect();
    let more = total.saturating_sub(first.len() as u64);
    match (first.is_empty(), more) {
        (true, _) => "-".to_owned(),
        (false, 0) => first.join(", "),
        (false, more) => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn group(name: &str) -> GroupName {
        GroupName::new(name).unwrap()
    }

    #[test]
    fn keys_limits_and_rates_are_read_as_people_write_them() {
        let keys = |given: &[(&str, &str)]| -> GivenKeys {
            given.iter().map(|(name, key)| (group(name), (*key).to_owned())).collect()
        };
        assert_eq!(parse_keys("tenant=a=b c").unwrap(), keys(&[("tenant", "a=b c")]));
        assert_eq!(parse_keys("tenant=1,message=2").unwrap(), keys(&[("tenant", "1"), ("message", "2")]));
        assert_eq!(parse_keys("tenant=a,b, m=2").unwrap(), keys(&[("tenant", "a,b"), ("m", "2")]));
        assert_eq!(parse_limit("tenant=20").unwrap(), (group("tenant"), 20));
        let rate = Rate { count: 100, per: Duration::from_secs(1), burst: 20 };
        assert_eq!(parse_named_rate("provider=100/1s:20").unwrap(), (group("provider"), rate));
        assert_eq!(parse_rate("100/s").unwrap(), Rate { burst: 1, ..rate });
        assert_eq!(parse_rate("7/1h30m:3").unwrap().per, Duration::from_secs(5_400));
    }

    #[test]
    fn what_can_not_be_read_is_refused_with_an_example() {
        for (fault, example) in [
            (parse_keys("acme").unwrap_err(), "tenant=acme"),
            (parse_keys("tenant=").unwrap_err(), "1 to 200"),
            (parse_keys("tenant=,message=1").unwrap_err(), "1 to 200"),
            (parse_limit("tenant").unwrap_err(), "tenant=20"),
            (parse_limit("tenant=many").unwrap_err(), "like 20"),
            (parse_limit("tenant=-1").unwrap_err(), "like 20"),
            (parse_rate("100").unwrap_err(), "100/1s"),
            (parse_rate("100/soon").unwrap_err(), "100/1s"),
            (parse_rate("100/1s:").unwrap_err(), "100/1s"),
            (parse_cursor("tenant").unwrap_err(), "tenant@mail=acme"),
        ] {
            assert!(fault.to_string().contains(example), "{fault}");
        }
        let two = parse_keys("tenant=a,tenant=b").unwrap();
        assert!(keys_of(two.iter()).unwrap_err().to_string().contains("two keys in group tenant"));
    }

    #[test]
    fn a_cursor_is_read_back_as_it_was_written() {
        let own = GroupRef::of("mail".parse().unwrap(), group("tenant"));
        assert_eq!(cursor(&own, "a=1"), "tenant@mail=a=1");
        assert_eq!(parse_cursor("tenant@mail=a=1").unwrap(), Cursor(own, "a=1".to_owned()));
        assert_eq!(parse_cursor("tenant=x").unwrap(), Cursor(GroupRef::shared(group("tenant")), "x".to_owned()));
    }

    #[test]
    fn long_lists_of_tasks_are_cut_and_counted() {
        let tasks: Vec<TaskId> = (1..=20).map(TaskId).collect();
        assert_eq!(task_words(&tasks, 3, 50), "1, 2, 3 and 47 more");
        assert_eq!(task_words(&tasks[..2], 3, 2), "1, 2");
        assert_eq!(task_words(&[], 3, 0), "-");
    }
}
