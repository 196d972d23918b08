//! The options by which `register` declares groups.

use std::collections::BTreeSet;

use kinfolk_core::{GroupName, GroupSpec, Groups, InputError, Rate};

use crate::group;

/// The groups of a command.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Groups: how many of its tasks at once, by key")]
pub(crate) struct GroupOptions {
    /// So many at once for each key of a group, like tenant=20; may be given several times
    #[arg(long = "group", value_name = "NAME=LIMIT", value_parser = group::parse_limit)]
    limits: Vec<(GroupName, u32)>,

    /// So many tasks of the command at once
    #[arg(long, alias = "concurrency", value_name = "LIMIT", value_parser = group::parse_slots)]
    total: Option<u32>,

    /// So many starts in a span of time for each key of a group, and so many at once after a pause, like
    /// provider=100/1s:20; may be given several times
    #[arg(long = "rate", value_name = "NAME=COUNT/SPAN[:BURST]", value_parser = group::parse_named_rate)]
    rates: Vec<(GroupName, Rate)>,

    /// This group counts together with those of the same name of other commands that share it
    #[arg(long, value_name = "NAME")]
    shared: Vec<GroupName>,

    /// A task keeps its slot in this group until it has ended, also while it waits for its children
    #[arg(long, value_name = "NAME")]
    hold: Vec<GroupName>,
}

impl GroupOptions {
    /// The declaration from now on: a named group is as these options say, other groups stay as they are. `None` when
    /// none is named.
    pub(crate) fn changed(&self, known: Option<&Groups>) -> Result<Option<Groups>, InputError> {
        let limits = self.limits.iter().cloned().chain(self.total.map(|total| (GroupName::total(), total)));
        let limits = once_each("limits", limits)?;
        let rates = once_each("rates", self.rates.iter().cloned())?;
        let limited = limits.iter().map(|(name, _)| name).chain(rates.iter().map(|(name, _)| name));
        let names: BTreeSet<&GroupName> = limited.chain(&self.shared).chain(&self.hold).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let mut groups = known.cloned().unwrap_or_default();
        for name in names {
            let spec = GroupSpec {
                limit: limits.iter().find(|(of, _)| of == name).map(|(_, limit)| *limit),
                rate: rates.iter().find(|(of, _)| of == name).map(|(_, rate)| *rate),
                hold: self.hold.contains(name),
                shared: self.shared.contains(name),
            };
            groups.0.insert(name.clone(), spec);
        }
        groups.check()?;
        Ok(Some(groups))
    }
}

fn once_each<T>(what: &str, given: impl Iterator<Item = (GroupName, T)>) -> Result<Vec<(GroupName, T)>, InputError> {
    let mut seen: Vec<(GroupName, T)> = Vec::new();
    for (name, value) in given {
        if seen.iter().any(|(other, _)| *other == name) {
            return Err(InputError::Other(format!("two {what} for group {name}; give it one")));
        }
        seen.push((name, value));
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    fn changed(words: &[&str], known: &str) -> Result<Option<Groups>, InputError> {
        let command = GroupOptions::augment_args(clap::Command::new("register").no_binary_name(true));
        let options = GroupOptions::from_arg_matches(&command.get_matches_from(words)).unwrap();
        options.changed(Some(&serde_json::from_str(known).unwrap()))
    }

    #[test]
    fn a_group_that_is_named_is_declared_anew_and_others_stay() {
        let words = ["--group", "tenant=20", "--total", "5", "--rate", "provider=100/1s:20", "--shared", "provider"];
        let groups = changed(&words, r#"{"message": 1, "tenant": {"limit": 3, "hold": true}}"#).unwrap().unwrap();
        let expected = r#"{"message": 1, "tenant": 20, "total": 5,
            "provider": {"rate": {"count": 100, "per_us": 1000000, "burst": 20}, "shared": true}}"#;
        assert_eq!(groups, serde_json::from_str(expected).unwrap());
        assert_eq!(changed(&[], r#"{"tenant": 20}"#).unwrap(), None);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (words, said) in [
            (&["--group", "tenant=1", "--group", "tenant=2"][..], "two limits for group tenant"),
            (&["--total", "1", "--group", "total=2"], "two limits for group total"),
            (&["--hold", "tenant"], "neither a limit nor a rate"),
            (&["--total", "1", "--shared", "total"], "can't be shared"),
            (&["--rate", "p=0/1s"], "out of range"),
        ] {
            let fault = changed(words, "{}").unwrap_err().to_string();
            assert!(fault.contains(said), "{fault}");
        }
    }
}
