//! The attributes of a type and of its fields.

use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Field, Ident, LitInt, LitStr, Path, Result, Token, Type, parenthesized};

use crate::span::{BACKOFF, RATE, SPAN, backoff, millis, rate};

const OUTPUT: &str = "write a type, without quotation marks";

/// The attributes of a type.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) command: Option<LitStr>,
    pub(crate) output: Option<Type>,
    pub(crate) queue: Option<LitStr>,
    pub(crate) label: Option<LitStr>,
    pub(crate) priority: Option<syn::Expr>,
    pub(crate) attempts: Option<LitInt>,
    pub(crate) backoff: Option<(u64, Option<u64>)>,
    pub(crate) timeout: Option<u64>,
    pub(crate) groups: Vec<Group>,
    pub(crate) unique: Option<Unique>,
    pub(crate) krate: Option<Path>,
}

/// A group of the command.
pub(crate) struct Group {
    pub(crate) name: LitStr,
    pub(crate) limit: Option<LitInt>,
    pub(crate) rate: Option<(u32, u64)>,
    pub(crate) burst: Option<LitInt>,
    pub(crate) shared: bool,
    pub(crate) hold: bool,
}

/// How long the unique key is held, and what a duplicate does.
#[derive(Default)]
pub(crate) struct Unique {
    pub(crate) active: bool,
    pub(crate) window: Option<u64>,
    pub(crate) on_duplicate: Option<LitStr>,
}

/// The attributes of a field.
#[derive(Default)]
pub(crate) struct OfField {
    pub(crate) unique: bool,
    pub(crate) key: Option<LitStr>,
}

impl Attributes {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("task")) {
            attribute.parse_nested_meta(|meta| read.take(&meta))?;
        }
        Ok(read)
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let word = word_of(meta)?;
        match word.as_str() {
            "command" => once(&mut self.command, meta, value(meta)?),
            "output" => once(&mut self.output, meta, value(meta).map_err(|fault| Error::new(fault.span(), OUTPUT))?),
            "queue" => once(&mut self.queue, meta, value(meta)?),
            "label" => once(&mut self.label, meta, value(meta)?),
            "priority" => once(&mut self.priority, meta, value(meta)?),
            "attempts" => once(&mut self.attempts, meta, value(meta)?),
            "backoff" => once(&mut self.backoff, meta, backoff(&text(meta, BACKOFF)?)?),
            "timeout" => once(&mut self.timeout, meta, millis(&text(meta, SPAN)?)?),
            "unique" => once(&mut self.unique, meta, Unique::read(meta)?),
            "crate" => once(&mut self.krate, meta, value(meta)?),
            "groups" => {
                let inside;
                parenthesized!(inside in meta.input);
                for group in inside.parse_terminated(Group::parse, Token![,])? {
                    if self.groups.iter().any(|other| other.name.value() == group.name.value()) {
                        let words = format!("group {} is declared twice", group.name.value());
                        return Err(Error::new(group.name.span(), words));
                    }
                    self.groups.push(group);
                }
                Ok(())
            }
            _ => Err(meta.error(format!(
                "unknown option {word}; there are: command, output, queue, label, priority, attempts, backoff, timeout, groups, unique, crate"
            ))),
        }
    }
}

impl Unique {
    fn read(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        let mut unique = Self::default();
        if meta.input.peek(syn::token::Paren) {
            meta.parse_nested_meta(|meta| unique.take(&meta))?;
        }
        Ok(unique)
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match word_of(meta)?.as_str() {
            "scope" => {
                let scope: LitStr = value(meta)?;
                self.active = one_of(&scope, &["pending", "active"])? == "active";
            }
            "window" => self.window = Some(millis(&text(meta, SPAN)?)?),
            "on_duplicate" => {
                let rule: LitStr = value(meta)?;
                one_of(&rule, &["keep", "replace", "merge"])?;
                self.on_duplicate = Some(rule);
            }
            word => {
                return Err(meta.error(format!("unknown option {word}; there are: scope, window, on_duplicate")));
            }
        }
        match self.active && self.window.is_some() {
            true => Err(meta.error("a unique key has one scope: active, or a window")),
            false => Ok(()),
        }
    }
}

impl Parse for Group {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = if input.peek(LitStr) {
            input.parse::<LitStr>()?
        } else {
            let name: Ident = input.parse()?;
            LitStr::new(&name.to_string(), name.span())
        };
        let mut group = Self { name, limit: None, rate: None, burst: None, shared: false, hold: false };
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            group.limit = Some(input.parse()?);
            return Ok(group);
        }
        let inside;
        parenthesized!(inside in input);
        let span = inside.span();
        syn::meta::parser(|meta| group.take(&meta)).parse2(inside.parse()?)?;
        match (&group.limit, &group.rate, &group.burst) {
            (None, None, _) => Err(Error::new(span, "a group has a limit, a rate or both")),
            (_, None, Some(burst)) => Err(Error::new(burst.span(), "a burst belongs to a rate; add one")),
            _ => Ok(group),
        }
    }
}

impl Group {
    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match word_of(meta)?.as_str() {
            "limit" => once(&mut self.limit, meta, value(meta)?),
            "rate" => once(&mut self.rate, meta, rate(&text(meta, RATE)?)?),
            "burst" => once(&mut self.burst, meta, value(meta)?),
            "shared" => {
                self.shared = true;
                Ok(())
            }
            "hold" => {
                self.hold = true;
                Ok(())
            }
            word => Err(meta.error(format!("unknown option {word}; there are: limit, rate, burst, shared, hold"))),
        }
    }
}

impl OfField {
    pub(crate) fn read(field: &Field) -> Result<Self> {
        let mut read = Self::default();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("task")) {
            attribute.parse_nested_meta(|meta| match word_of(&meta)?.as_str() {
                "unique" => {
                    read.unique = true;
                    Ok(())
                }
                "key" if meta.input.peek(Token![=]) => once(&mut read.key, &meta, value(&meta)?),
                "key" => match &field.ident {
                    Some(name) => once(&mut read.key, &meta, LitStr::new(&name.to_string(), name.span())),
                    None => Err(meta.error("this field has no name; write key = \"group\"")),
                },
                word => Err(meta.error(format!("unknown option {word}; there are: unique, key"))),
            })?;
        }
        Ok(read)
    }
}

fn word_of(meta: &ParseNestedMeta<'_>) -> Result<String> {
    match meta.path.get_ident() {
        Some(word) => Ok(word.to_string()),
        None => Err(meta.error("expected a word")),
    }
}

fn value<T: Parse>(meta: &ParseNestedMeta<'_>) -> Result<T> {
    meta.value()?.parse()
}

/// A text, and how it is written if it is none.
fn text(meta: &ParseNestedMeta<'_>, how: &str) -> Result<LitStr> {
    value(meta).map_err(|fault| Error::new(fault.span(), how))
}

fn once<T>(kept: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> Result<()> {
    match kept.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error("this is said twice")),
    }
}

fn one_of(given: &LitStr, words: &[&str]) -> Result<String> {
    let word = given.value();
    match words.contains(&word.as_str()) {
        true => Ok(word),
        false => Err(Error::new(given.span(), format!("unknown word {word:?}; there are: {}", words.join(", ")))),
    }
}
