//! A command said option by option: spans of time are [`Duration`]s, and the first mistake is told at the end.

use std::time::Duration;

use crate::command::Command;
use crate::error::InputError;
use crate::group::{GroupSpec, Groups};
use crate::name::{CommandName, QueueName};

/// A command about to be: [`Command::named`] begins one.
///
/// ```
/// use std::time::Duration;
/// use kinfolk_core::{Command, GroupSpec, Rate};
///
/// let mail = Command::named("send_invoice")
///     .queue("mail")
///     .attempts(4)
///     .backoff(Duration::from_secs(2), Duration::from_secs(600))
///     .timeout(Duration::from_secs(30))
///     .group("tenant", 20)
///     .group("provider", GroupSpec::rate(Rate::per_second(10)).shared())
///     .build()?;
/// assert_eq!((mail.queue.as_str(), mail.retry.base_ms), ("mail", 2_000));
/// # Ok::<(), kinfolk_core::InputError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a command says nothing until it is built"]
pub struct CommandBuilder(Result<Command, InputError>);

impl Command {
    /// A command of this name on the queue `default` with default policy, to be changed option by option.
    pub fn named(name: impl AsRef<str>) -> CommandBuilder {
        CommandBuilder(CommandName::new(name.as_ref()).map(Self::new))
    }
}

impl CommandBuilder {
    /// Its tasks wait on this queue, which is made if it is not there.
    pub fn queue(self, queue: impl AsRef<str>) -> Self {
        self.try_with(|command| QueueName::new(queue.as_ref()).map(|queue| command.queue = queue))
    }

    /// The path of the payload to the label of a task, which people see beside its command: `customer.name`.
    pub fn label(self, path: impl AsRef<str>) -> Self {
        self.try_with(|command| path.as_ref().parse().map(|path| command.label = Some(path)))
    }

    /// Lower goes first.
    pub fn priority(self, priority: i32) -> Self {
        self.with(|command| command.priority = priority)
    }

    /// Attempts in all, the first one counted.
    pub fn attempts(self, attempts: u16) -> Self {
        self.with(|command| command.retry.max_attempts = Some(attempts))
    }

    /// How long a task waits after its first failed attempt, and at most: the delay doubles with each further failure.
    pub fn backoff(self, first: Duration, longest: Duration) -> Self {
        self.try_with(|command| {
            (command.retry.base_ms, command.retry.cap_ms) = (millis(first)?, millis(longest)?);
            Ok(())
        })
    }

    /// How far a delay may be off, in percent of itself, to keep a herd apart.
    pub fn jitter(self, percent: u8) -> Self {
        self.with(|command| command.retry.jitter_pct = percent)
    }

    /// Strikes that make a task poison: losses of a worker while the task was its only suspect.
    pub fn strikes(self, strikes: u16) -> Self {
        self.with(|command| command.retry.max_strikes = strikes)
    }

    /// How long one attempt may run.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|command| command.timeout = Some(timeout))
    }

    /// A group of the command, with a limit, a rate or a whole [`GroupSpec`]: how many of its tasks run at once, or start in a
    /// span of time, under each key. The name `total` is the command's own total.
    pub fn group(self, name: impl AsRef<str>, spec: impl Into<GroupSpec>) -> Self {
        self.try_with(|command| {
            let Groups(group) = Groups::of([(name, spec)])?;
            command.groups.get_or_insert_default().0.extend(group);
            Ok(())
        })
    }

    /// The command, if all of it can be kept.
    pub fn build(self) -> Result<Command, InputError> {
        let command = self.0?;
        command.check()?;
        Ok(command)
    }

    fn with(self, change: impl FnOnce(&mut Command)) -> Self {
        self.try_with(|command| {
            change(command);
            Ok(())
        })
    }

    fn try_with(mut self, change: impl FnOnce(&mut Command) -> Result<(), InputError>) -> Self {
        if let Ok(command) = &mut self.0
            && let Err(fault) = change(command)
        {
            self.0 = Err(fault);
        }
        self
    }
}

impl From<Command> for CommandBuilder {
    fn from(command: Command) -> Self {
        Self(Ok(command))
    }
}

fn millis(span: Duration) -> Result<u32, InputError> {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    u32::try_from(millis).map_err(|_| InputError::Delay(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mistake_is_told() {
        let said = |builder: CommandBuilder| builder.build().unwrap_err().to_string();
        assert!(said(Command::named("two words").queue("bad queue")).contains("two words"));
        assert!(said(Command::named("a").queue("bad queue").attempts(0)).contains("bad queue"));
        assert!(said(Command::named("a").group("bad group", 1)).contains("bad group"));
        let years = Duration::from_secs(100 * 365 * 86_400);
        assert_eq!(Command::named("a").backoff(years, years).build(), Err(InputError::Delay(3_153_600_000_000)));
        assert!(Command::named("a").attempts(0).build().is_err());
    }

    #[test]
    fn groups_add_up() {
        let command = Command::named("a").group("tenant", 20).group("total", 5).build().unwrap();
        assert_eq!(command.groups, Some(Groups::of([("tenant", 20), ("total", 5)]).unwrap()));
        assert_eq!(Command::named("a").build().unwrap(), Command::new(CommandName::new("a").unwrap()));
    }
}
