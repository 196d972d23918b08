//! Groups: the keys that hold tasks up, who holds their slots, and every group there is.

mod opened;

use askama::Template;
use axum::response::Response;
use kinfolk_core::group::TOTAL;
use kinfolk_core::{CommandName, GroupName, GroupRef, GroupView, KeyFilter, KeyView, Rate, Timestamp};

use self::opened::Opened;
use super::address::Address;
use super::ask::Ask;
use super::frame::Frame;
use super::part::{Moment, words};
use super::{actions, render, show};
use crate::problem::Problem;
use crate::visit::Visit;

/// Keys on the page.
const KEYS_SHOWN: usize = 50;
/// Keys whose first waiter is looked for.
const FIRSTS: usize = 20;
/// Keys that are counted by group. Where there are more, they are not.
const KEYS_COUNTED: usize = 200;
/// Slots that are drawn; more are only counted.
const PIPS_MAX: u64 = 40;

#[derive(Template)]
#[template(path = "groups.html")]
struct Page {
    frame: Frame,
    heading: String,
    one: Option<String>,
    keys: Vec<Key>,
    others: Vec<Key>,
    groups: Vec<Row>,
    counted: bool,
}

struct Key {
    id: String,
    group: String,
    key: String,
    of: String,
    href: String,
    pips: Vec<bool>,
    slots: String,
    until: Option<Moment>,
    waiters: String,
    first: Option<Moment>,
    opened: Option<Opened>,
    fold: String,
    asks: Vec<Ask>,
    is_full: bool,
}

struct Row {
    id: String,
    href: String,
    in_use: usize,
    full: usize,
    name: String,
    of: String,
    limit: String,
    rate: String,
    set: String,
    note: String,
}

/// `GET /groups`, and with `?group=&command=&key=` one key.
pub(crate) async fn page(visit: Visit, address: Address) -> Response {
    show(&visit, list(&visit, &address)).await
}

/// The address of a key.
pub(crate) fn key_path(group: &GroupRef, key: &str) -> String {
    format!("{}&key={}", group_path(group), words::encoded(key))
}

/// The address of a group.
fn group_path(group: &GroupRef) -> String {
    let command =
        group.command.as_ref().map(|name| format!("&command={}", words::encoded(name.as_str()))).unwrap_or_default();
    format!("/groups?group={}{command}", words::encoded(group.name.as_str()))
}

async fn list(visit: &Visit, address: &Address) -> Result<Response, Problem> {
    let frame = Frame::of(visit, "/groups", "Groups").await?.live("overview").after(actions::done(address));
    let view = visit.view();
    let groups = view.groups().await?;
    let only = match address.get("group") {
        Some(name) => Some(GroupRef {
            command: address.get("command").map(CommandName::new).transpose()?,
            name: GroupName::new(name)?,
        }),
        None => None,
    };
    let all = view.keys(&KeyFilter { group: only.clone(), limit: KEYS_COUNTED, ..KeyFilter::default() }).await?;
    let wanted = address.get("key").or(only.as_ref().filter(|group| group.name.as_str() == TOTAL).map(|_| ""));
    let shown = |key: &&KeyView| wanted.is_none_or(|wanted| key.key == wanted);
    let is_blocking = |key: &&KeyView| key.waiters > 0 || key.until.is_some_and(|until| until > frame.now);
    let mut blocking: Vec<&KeyView> = all.iter().filter(shown).filter(is_blocking).collect();
    blocking.sort_by_key(|key| std::cmp::Reverse(key.waiters));
    let drawn = |key: &KeyView| Key::of(visit, address, key, &groups, frame.now);
    let mut keys: Vec<Key> = blocking.iter().take(KEYS_SHOWN).map(|key| drawn(key)).collect();
    for (key, view) in keys.iter_mut().zip(&blocking).take(FIRSTS) {
        key.first = opened::first(visit, view, frame.now).await?;
    }
    let others: Vec<&KeyView> = all.iter().filter(shown).filter(|key| !is_blocking(key)).take(KEYS_SHOWN).collect();
    let mut others_drawn: Vec<Key> = others.iter().map(|key| drawn(key)).collect();
    if let (Some(_), Some(_)) = (&only, wanted) {
        for (key, view) in keys.iter_mut().zip(&blocking).chain(others_drawn.iter_mut().zip(&others)).take(1) {
            key.opened = Some(Opened::of(visit, view, frame.now).await?);
            key.fold = visit.links.to("/groups");
        }
    }
    let heading = match (blocking.len(), all.len()) {
        (0, 0) => "no key is in use".to_owned(),
        (0, used) => format!("{} in use, none holds tasks up", words::many(used as u64, "key", "keys")),
        (1, used) => format!("1 of {} in use holds tasks up", words::many(used as u64, "key", "keys")),
        (full, used) => format!("{full} of {} in use hold tasks up", words::many(used as u64, "key", "keys")),
    };
    let one = only.as_ref().map(|group| named(group, wanted.unwrap_or_default()));
    let counted = only.is_none() && all.len() < KEYS_COUNTED;
    let groups = groups.iter().map(|group| Row::of(visit, group, &all)).collect();
    render(&Page { frame, heading, one, keys, others: others_drawn, groups, counted })
}

fn named(group: &GroupRef, key: &str) -> String {
    match (&group.command, key) {
        (Some(command), "") => format!("{} of {command}", group.name),
        (_, "") => group.name.to_string(),
        (_, key) => format!("{} {}", group.name, words::short(key, 80)),
    }
}

impl Key {
    fn of(visit: &Visit, address: &Address, view: &KeyView, groups: &[GroupView], now: Timestamp) -> Self {
        let limit = view.limit.map(u64::from);
        let pips =
            limit.filter(|limit| *limit <= PIPS_MAX).map(|limit| (0..limit).map(|slot| slot < view.held).collect());
        let slots = match limit {
            Some(limit) => format!("{} of {}", words::count(view.held), words::many(limit, "slot", "slots")),
            None => format!("{} at once, no limit", words::count(view.held)),
        };
        let of = groups.iter().find(|group| group.group == view.group).map(of_words).unwrap_or_default();
        let ask = Ask::new(&visit.links, "set-limit", "Change…", &address.here)
            .field("group", &view.group.name)
            .field("command", &view.group.command.as_ref().map(ToString::to_string).unwrap_or_default())
            .field("key", &view.key);
        Self {
            id: format!("{}/{}", view.group, view.key),
            group: view.group.name.to_string(),
            key: view.key.clone(),
            of,
            href: visit.links.to(&key_path(&view.group, &view.key)),
            pips: pips.unwrap_or_default(),
            slots,
            until: view.until.filter(|until| *until > now).map(|until| Moment::until(until, now)),
            waiters: words::count(view.waiters),
            first: None,
            opened: None,
            fold: visit.links.to(&key_path(&view.group, &view.key)),
            asks: if visit.may_manage() && limit.is_some() { vec![ask] } else { Vec::new() },
            is_full: limit.is_some_and(|limit| view.held >= limit),
        }
    }
}

fn of_words(group: &GroupView) -> String {
    match group.commands.as_slice() {
        [one] => format!("of {one}"),
        [one, two] => format!("of {one} and {two}"),
        many => format!("shared by {} commands", many.len()),
    }
}

impl Row {
    fn of(visit: &Visit, view: &GroupView, keys: &[KeyView]) -> Self {
        let rate = |rate: Rate| {
            format!("{} in {}, {} at once", words::count(u64::from(rate.count)), words::span(rate.per), rate.burst)
        };
        let limit = view.set.limit.or(view.declared.limit);
        let mut set: Vec<String> = Vec::new();
        for (key, setting) in view.keys.iter().take(3) {
            set.extend(
                setting.limit.map(|limit| {
                    format!("{}: {}", words::short(key, 40), words::many(u64::from(limit), "slot", "slots"))
                }),
            );
        }
        if view.keys.len() > 3 {
            set.push(format!("{} more", view.keys.len() - 3));
        }
        let mut note = Vec::new();
        if view.declared.shared {
            note.push("shared");
        }
        if view.declared.hold {
            note.push("held by families");
        }
        if view.set.limit.is_some() || view.set.rate.is_some() {
            note.push("set by hand");
        }
        if view.group.name.as_str() == TOTAL {
            note.push("the command's total");
        }
        let own = || keys.iter().filter(|key| key.group == view.group);
        let is_full = |key: &&KeyView| key.limit.is_some_and(|limit| key.held >= u64::from(limit));
        Self {
            id: view.group.to_string(),
            href: visit.links.to(&group_path(&view.group)),
            in_use: own().count(),
            full: own().filter(is_full).count(),
            name: view.group.name.to_string(),
            of: of_words(view).trim_start_matches("of ").to_owned(),
            limit: limit.map_or_else(|| "none".to_owned(), |limit| words::count(u64::from(limit))),
            rate: view.set.rate.or(view.declared.rate).map_or_else(|| "none".to_owned(), rate),
            set: if set.is_empty() { "none".to_owned() } else { set.join(", ") },
            note: note.join(", "),
        }
    }
}
