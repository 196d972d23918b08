//! Addresses as texts: the words of a `key=value` line, and the parts of an address that may be shown.

/// The error of an address that can't be read.
pub(crate) const HOW: &str = "the database address can't be read; write it like postgres://USER:PASSWORD@HOST:PORT/DBNAME, where \
    a password has %40 for @, %3A for : and %2F for /, or like host=HOST port=PORT dbname=DBNAME user=USER password='PASSWORD', \
    and check how the options are spelt";

/// One `key=value` of a line, with the value as it was written, quotes and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
}

/// The words of a `key=value` line, read as the driver does: values with blanks in them are quoted, `\` takes the next
/// character as it is, blanks around `=` do not count. None if that is not what it is.
pub(crate) fn words(line: &str) -> Option<Vec<Word<'_>>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let key = key.trim_end();
        if key.is_empty() || key.contains(char::is_whitespace) {
            return None;
        }
        let after = after.trim_start();
        let (value, left) = after.split_at(end_of_value(after)?);
        words.push(Word { key, value });
        rest = left.trim_start();
    }
    Some(words)
}

fn end_of_value(text: &str) -> Option<usize> {
    let quoted = text.starts_with('\'');
    let mut chars = text.char_indices().skip(usize::from(quoted));
    while let Some((at, letter)) = chars.next() {
        match letter {
            '\\' => drop(chars.next()?),
            '\'' if quoted => return Some(at + 1),
            _ if !quoted && letter.is_whitespace() => return Some(at),
            _ => {}
        }
    }
    (!quoted).then_some(text.len())
}

/// A value as it is meant.
pub(crate) fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(letter) = chars.next() {
        out.extend(if letter == '\\' { chars.next() } else { Some(letter) });
    }
    out
}

/// The words of an address that are no secret. Any other word may be a password with a slip of the pen before it.
const SHOWN: [&str; 15] = [
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "sslmode",
    "sslrootcert",
    "options",
    "application_name",
    "connect_timeout",
    "tcp_user_timeout",
    "target_session_attrs",
    "keepalives",
    "channel_binding",
    "load_balance_hosts",
];

/// An address as it may be shown: nothing of a password is in it, however it is written. Of one that can't be read nothing
/// is shown at all.
pub fn without_password(address: &str) -> String {
    shown(address).unwrap_or_else(|| "the address given".to_owned())
}

fn shown(address: &str) -> Option<String> {
    let open = |key: &str| SHOWN.contains(&key.trim());
    let Some((scheme, rest)) = address.split_once("://") else {
        let words = words(address)?;
        let words = words.iter().filter(|word| open(word.key)).map(|word| format!("{}={}", word.key, word.value));
        return Some(words.collect::<Vec<_>>().join(" "));
    };
    // To the driver all before the first `@` is user and password. There may be more of them in a password.
    let (user, rest) = match rest.split_once('@') {
        // The `@` is inside of another part then, and the parts can't be told apart.
        Some((user, _)) if user.contains(['=', '?']) && !user.contains(':') => return None,
        Some((user, rest)) => (user.split([':', '/', '?', '&']).next().unwrap_or_default(), rest),
        None => ("", rest),
    };
    let (server, options) = rest.split_once('?').unwrap_or((rest, ""));
    let server = server.rsplit_once('@').map_or(server, |(_, server)| server);
    // A port is a number. Where it is none, a user and his password are in the place of the hosts.
    let hosts = server.split_once('/').map_or(server, |(hosts, _)| hosts);
    let port = |host: &str| host.rsplit_once(':').is_none_or(|(_, port)| port.bytes().all(|c| c.is_ascii_digit()));
    if !hosts.starts_with('[') && !hosts.split(',').all(port) {
        return None;
    }
    let at = if user.is_empty() { "" } else { "@" };
    let options = options.split('&').filter(|option| option.split_once('=').is_some_and(|(key, _)| open(key)));
    let options: Vec<&str> = options.collect();
    let question = if options.is_empty() { "" } else { "?" };
    Some(format!("{scheme}://{user}{at}{server}{question}{}", options.join("&")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_the_driver_reads_them() {
        let read = |line| words(line).map(|words| words.iter().map(|w| (w.key, w.value)).collect::<Vec<_>>());
        assert_eq!(read(r"a=1  b = 'x y' c=p\ q"), Some(vec![("a", "1"), ("b", "'x y'"), ("c", r"p\ q")]));
        assert_eq!(read(r"a='it\'s' b=2"), Some(vec![("a", r"'it\'s'"), ("b", "2")]));
        assert_eq!(read("a='open"), None);
        assert_eq!(read("no words"), None);
        assert_eq!(unquoted(r"'it\'s  so'"), "it's  so");
    }

    #[test]
    fn a_password_is_never_shown_however_it_is_written() {
        for (address, shown) in [
            ("postgres://me:secret@db:5432/x?sslmode=require", "postgres://me@db:5432/x?sslmode=require"),
            ("postgres://me:s@secret:et@db/x", "postgres://me@db/x"),
            ("postgres://me:a?secret@db/x", "postgres://me@db/x"),
            ("postgres://me:a/secret@db/x", "postgres://me@db/x"),
            ("postgres://db/x?user=me&password=secret&port=7", "postgres://db/x?user=me&port=7"),
            ("postgres://db/x?user=me&pasword=secret", "postgres://db/x?user=me"),
            ("postgres://me:secret", "the address given"),
            ("postgres://me:secret/x", "the address given"),
            ("postgres://me@db:secret/x", "the address given"),
            ("postgres://a:1,b:2/x", "postgres://a:1,b:2/x"),
            ("postgres://[::1]:5432/x", "postgres://[::1]:5432/x"),
            ("postgres://db/x?password=s@secret", "the address given"),
            ("host=db password=secret dbname=x", "host=db dbname=x"),
            ("host=db password='my secret' dbname=x", "host=db dbname=x"),
            ("host=db password = 'my secret' dbname=x", "host=db dbname=x"),
            (r"host=db password='it\'s secret' dbname=x", "host=db dbname=x"),
            (r"password=my\ secret host=db", "host=db"),
            ("host=db password='my secret", "the address given"),
            ("host=db pasword=secret passwd=secret", "host=db"),
        ] {
            assert_eq!(without_password(address), shown);
        }
    }
}
