//! A reader of HTML that knows only what our own templates write, and refuses all else: what it accepts, every browser reads the
//! same way.

use std::collections::BTreeSet;

/// Elements that have no end tag.
const VOID: [&str; 5] = ["meta", "link", "input", "br", "hr"];

/// What markup there is in a page.
#[derive(Debug, Default)]
pub(super) struct Markup {
    /// Elements, and elements with the attributes that they have: `a`, `a href`.
    pub(super) words: BTreeSet<String>,
    /// The values of attributes: element, attribute, value.
    pub(super) values: Vec<(String, String, String)>,
}

/// Reads a page, or says what is no markup of ours.
pub(super) fn read(page: &str) -> Result<Markup, String> {
    let mut rest = page.strip_prefix("<!doctype html>").ok_or("no doctype")?;
    let mut markup = Markup::default();
    let mut open: Vec<String> = Vec::new();
    while let Some(at) = rest.find('<') {
        let end = tag_end(&rest[at..]).ok_or_else(|| format!("a tag that does not end: {}", near(&rest[at..])))?;
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> ends nothing, before {}", near(rest)));
            }
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = element(tag, &mut markup)?;
        if !closed && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(markup) } else { Err(format!("{open:?} do not end")) }
}

/// Where a tag ends: at the first `>` outside of a value.
fn tag_end(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, c)| {
        quoted ^= c == '"';
        (c == '>' && !quoted).then_some(at)
    })
}

/// Reads `name a="b" c`.
fn element(tag: &str, markup: &mut Markup) -> Result<String, String> {
    let name: String = tag.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    if name.is_empty() {
        return Err(format!("no name: <{}", near(tag)));
    }
    let mut rest = &tag[name.len()..];
    markup.words.insert(name.clone());
    while !rest.trim().is_empty() {
        rest = rest.strip_prefix(char::is_whitespace).ok_or_else(|| format!("no space: {}", near(rest)))?.trim_start();
        let known = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == ':';
        let attribute: String = rest.chars().take_while(known).collect();
        if attribute.is_empty() {
            return Err(format!("no attribute: <{name} {}", near(rest)));
        }
        rest = &rest[attribute.len()..];
        let mut value = "";
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let end = quoted.find('"').ok_or_else(|| format!("no end: {}", near(quoted)))?;
            (value, rest) = (&quoted[..end], &quoted[end + 1..]);
        } else if rest.starts_with('=') {
            return Err(format!("not quoted: <{name} {attribute}{}", near(rest)));
        }
        if value.contains('<') {
            return Err(format!("not escaped: {attribute}={}", near(value)));
        }
        markup.words.insert(format!("{name} {attribute}"));
        markup.values.push((name.clone(), attribute, value.to_owned()));
    }
    Ok(name)
}

fn near(text: &str) -> String {
    text.chars().take(80).collect()
}

#[test]
fn what_a_text_could_do_is_noticed() {
    for page in [
        "<b>x</b><script>alert(1)</script",
        "<b>x</i>",
        "<b>x",
        "<b class=x>y</b>",
        "<b class=\"<i>\">y</b>",
        "<b \"=x>y</b>",
        "<b>1 < 2</b>",
        "<!-- x -->",
    ] {
        assert!(read(&format!("<!doctype html>{page}")).is_err(), "{page}");
    }
    let good = read("<!doctype html><p id=\"a\" hidden>1 &lt; 2 > 1<br><use href=\"#x\"/></p>").unwrap();
    assert!(["p", "p id", "p hidden", "br", "use href"].iter().all(|word| good.words.contains(*word)), "{good:?}");
}
