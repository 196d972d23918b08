//! Addresses as texts: the words of a `key=value` line, and what of an address may be shown.

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

/// An address as it may be shown: nothing of a password is in it, however it is written. Of one that can't be read nothing
/// is shown at all.
pub fn without_password(address: &str) -> String {
    let secret = |key: &str| key.trim().to_ascii_lowercase().ends_with("password");
    let Some((scheme, rest)) = address.split_once("://") else {
        let Some(words) = words(address) else { return "the address given".to_owned() };
        let shown = words.iter().filter(|word| !secret(word.key)).map(|word| format!("{}={}", word.key, word.value));
        return shown.collect::<Vec<_>>().join(" ");
    };
    // To the driver all before the first `@` is user and password. There may be more of them in a password.
    let (user, rest) = match rest.split_once('@') {
        // One who wrote this meant another thing: what follows is a part of it.
        Some((user, _)) if user.to_ascii_lowercase().contains("password=") => return "the address given".to_owned(),
        Some((user, rest)) => (user.split([':', '/', '?', '&']).next().unwrap_or_default(), rest),
        None => ("", rest),
    };
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let at = if user.is_empty() { "" } else { "@" };
    let shown = |option: &&str| !option.is_empty() && !option.split_once('=').is_none_or(|(key, _)| secret(key));
    let options: Vec<&str> = options.split('&').filter(shown).collect();
    let mark = if options.is_empty() { "" } else { "?" };
    format!("{scheme}://{user}{at}{place}{mark}{}", options.join("&"))
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
            ("postgres://db/x?user=me&password=secret&a=b", "postgres://db/x?user=me&a=b"),
            ("postgres://db/x?password=s@secret", "the address given"),
            ("host=db password=secret dbname=x", "host=db dbname=x"),
            ("host=db password='my secret' dbname=x", "host=db dbname=x"),
            ("host=db password = 'my secret' dbname=x", "host=db dbname=x"),
            (r"host=db password='it\'s secret' dbname=x", "host=db dbname=x"),
            (r"password=my\ secret host=db", "host=db"),
            ("host=db password='my secret", "the address given"),
        ] {
            assert_eq!(without_password(address), shown);
        }
    }
}
