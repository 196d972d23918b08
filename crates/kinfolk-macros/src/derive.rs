//! The implementation that is written.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, LitStr, Member, Path, Result, Type};

use crate::attributes::{Attributes, Group, OfField, Unique};

/// A field that is a part of the unique key, or a key in a group.
struct Part {
    member: Member,
    optional: bool,
    of: OfField,
}

pub(crate) fn task(input: &DeriveInput) -> Result<TokenStream> {
    let said = Attributes::read(&input.attrs)?;
    let Some(command) = &said.command else {
        let how = "a task needs a command: #[task(command = \"send_invoice\")]";
        return Err(Error::new(input.ident.span(), how));
    };
    let parts = parts(input, &said.groups)?;
    let krate = said.krate.clone().unwrap_or_else(|| syn::parse_quote!(::kinfolk));
    let output = said.output.clone().unwrap_or_else(|| syn::parse_quote!(()));
    let checks = checks(&krate, command, &said);
    let builder = builder(&krate, &said);
    let unique = unique(&krate, command, said.unique.as_ref(), &parts)?;
    let keys = keys(&krate, &parts);
    let name = &input.ident;
    let (generics, of, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        #checks

        #[automatically_derived]
        impl #generics #krate::Task for #name #of #bounds {
            const COMMAND: &'static str = #command;
            type Output = #output;

            fn command() -> #krate::CommandBuilder {
                #builder
            }

            #unique
            #keys
        }
    })
}

/// The fields that say something.
fn parts(input: &DeriveInput, groups: &[Group]) -> Result<Vec<Part>> {
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(data) => {
            let fields = data.variants.iter().flat_map(|variant| &variant.fields);
            return nothing_said(
                fields,
                "keys are taken from the fields of a struct; for an enum, implement Task by hand",
            );
        }
        Data::Union(data) => return Err(Error::new(data.union_token.span, "a union can't be a payload")),
    };
    let mut parts = Vec::new();
    for (field, member) in fields.iter().zip(fields.members()) {
        let of = OfField::read(field)?;
        if let Some(key) = &of.key {
            check_key(key, groups, &parts)?;
        }
        if of.unique || of.key.is_some() {
            parts.push(Part { member, optional: is_option(&field.ty), of });
        }
    }
    Ok(parts)
}

fn nothing_said<'a>(fields: impl Iterator<Item = &'a syn::Field>, how: &str) -> Result<Vec<Part>> {
    for field in fields {
        if let Some(attribute) = field.attrs.iter().find(|attribute| attribute.path().is_ident("task")) {
            return Err(Error::new_spanned(attribute, how));
        }
    }
    Ok(Vec::new())
}

/// A key is in a group that is declared, where groups are, and in no other field.
fn check_key(key: &LitStr, groups: &[Group], before: &[Part]) -> Result<()> {
    let name = key.value();
    if name == "total" {
        return Err(Error::new(key.span(), "nobody gives a key in a command's total"));
    }
    if !groups.is_empty() && groups.iter().all(|group| group.name.value() != name) {
        let there: Vec<_> = groups.iter().map(|group| group.name.value()).collect();
        let words = format!("groups(…) declares no group {name}; there are: {}", there.join(", "));
        return Err(Error::new(key.span(), words));
    }
    match before.iter().any(|part| part.of.key.as_ref().is_some_and(|other| other.value() == name)) {
        true => Err(Error::new(key.span(), format!("another field is the key in group {name}"))),
        false => Ok(()),
    }
}

/// Checks names and numbers by the rules of the engine, and marks the place of an error.
fn checks(krate: &Path, command: &LitStr, said: &Attributes) -> TokenStream {
    let names = said.queue.iter().chain(said.groups.iter().map(|group| &group.name));
    let names = std::iter::once(command).chain(names).map(|name| {
        quote_spanned! {name.span()=> const _: () = #krate::derived::check_name(#name); }
    });
    let attempts = said.attempts.iter().map(|attempts| {
        quote_spanned! {attempts.span()=> const _: () = #krate::derived::check_attempts(#attempts); }
    });
    quote! { #(#names)* #(#attempts)* }
}

fn builder(krate: &Path, said: &Attributes) -> TokenStream {
    let queue = said.queue.iter().map(|queue| quote! { .queue(#queue) });
    let label = said.label.iter().map(|label| quote! { .label(#label) });
    let priority = said.priority.iter().map(|priority| quote! { .priority(#priority) });
    let attempts = said.attempts.iter().map(|attempts| quote! { .attempts(#attempts) });
    let backoff = said.backoff.iter().map(|(first, longest)| {
        let first = span_of(*first);
        let longest = longest.map_or_else(|| quote! { #krate::derived::LONGEST_DELAY }, span_of);
        quote! { .backoff(#first, #longest) }
    });
    let timeout = said.timeout.iter().map(|timeout| {
        let timeout = span_of(*timeout);
        quote! { .timeout(#timeout) }
    });
    let groups = said.groups.iter().map(|group| {
        let (name, spec) = (&group.name, spec(krate, group));
        quote! { .group(#name, #spec) }
    });
    quote! {
        #krate::Command::named(Self::COMMAND)
            #(#queue)* #(#label)* #(#priority)* #(#attempts)* #(#backoff)* #(#timeout)* #(#groups)*
    }
}

fn spec(krate: &Path, group: &Group) -> TokenStream {
    let limit = match &group.limit {
        Some(limit) => quote! { ::core::option::Option::Some(#limit) },
        None => quote! { ::core::option::Option::None },
    };
    let rate = match group.rate {
        Some((count, per)) => {
            let burst = group.burst.as_ref().map_or_else(|| quote! { 1 }, |burst| quote! { #burst });
            let per = span_of(per);
            quote! { ::core::option::Option::Some(#krate::Rate { count: #count, per: #per, burst: #burst }) }
        }
        None => quote! { ::core::option::Option::None },
    };
    let (hold, shared) = (group.hold, group.shared);
    quote! { #krate::GroupSpec { limit: #limit, rate: #rate, hold: #hold, shared: #shared } }
}

fn unique(krate: &Path, command: &LitStr, said: Option<&Unique>, parts: &[Part]) -> Result<TokenStream> {
    let members: Vec<_> = parts.iter().filter(|part| part.of.unique).collect();
    if let Some(part) = members.iter().find(|part| part.optional) {
        let words = "an Option can't be a part of the unique key; implement Task by hand, or use another type";
        return Err(Error::new_spanned(&part.member, words));
    }
    let texts: Vec<_> = members.iter().map(|part| text(&part.member)).collect();
    let key = match (texts.as_slice(), said) {
        ([], None) => return Ok(TokenStream::new()),
        ([], Some(_)) => quote! { #command },
        (texts, _) => quote! {
            #krate::derived::unique_key(&[#(#texts),*])
        },
    };
    let scope = said.map(|said| match (said.window, said.active) {
        (Some(window), _) => {
            let window = span_of(window);
            quote! { .scope(#krate::UniqueScope::Window(#window)) }
        }
        (None, true) => quote! { .scope(#krate::UniqueScope::Active) },
        (None, false) => TokenStream::new(),
    });
    let on_duplicate = said.and_then(|said| said.on_duplicate.as_ref()).map(|rule| {
        let rule = Ident::new(
            match rule.value().as_str() {
                "replace" => "Replace",
                "merge" => "Merge",
                _ => "Keep",
            },
            Span::call_site(),
        );
        quote! { .on_duplicate(#krate::OnDuplicate::#rule) }
    });
    Ok(quote! {
        fn unique(&self) -> ::core::option::Option<#krate::Unique> {
            ::core::option::Option::Some(#krate::Unique::key(#key) #scope #on_duplicate)
        }
    })
}

fn keys(krate: &Path, parts: &[Part]) -> TokenStream {
    let keys: Vec<_> = parts
        .iter()
        .filter_map(|part| part.of.key.as_ref().map(|key| (part, key)))
        .map(|(part, key)| {
            let member = &part.member;
            let value = match part.optional {
                true => quote! { self.#member.as_ref().map(::std::string::ToString::to_string) },
                false => {
                    let text = text(member);
                    quote! { ::core::option::Option::Some(#text) }
                }
            };
            quote! { (#key, #value) }
        })
        .collect();
    if keys.is_empty() {
        return TokenStream::new();
    }
    quote! {
        fn keys(&self) -> ::core::result::Result<#krate::Keys, #krate::InputError> {
            #krate::derived::keys([#(#keys),*])
        }
    }
}

/// A field as the text of a key. The field is where the compiler says that a type has none.
fn text(member: &Member) -> TokenStream {
    let at = Span::call_site().located_at(member.span());
    quote_spanned! {at=> ::std::string::ToString::to_string(&self.#member) }
}

fn span_of(millis: u64) -> TokenStream {
    quote! { ::core::time::Duration::from_millis(#millis) }
}

/// By its name: an alias of it is not known here.
fn is_option(of: &Type) -> bool {
    match of {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message, and the text that it points at.
    fn mistake(source: &str) -> (String, String) {
        let fault = task(&syn::parse_str(source).unwrap()).unwrap_err();
        (fault.to_string(), fault.span().source_text().unwrap_or_default())
    }

    #[test]
    fn a_mistake_is_told_at_the_attribute() {
        for (source, told, at) in [
            ("struct A;", "a task needs a command", "A"),
            ("#[task(comand = \"a\")] struct A;", "unknown option comand; there are: command", "comand"),
            ("#[task(command = a)] struct A;", "expected string literal", "a"),
            ("#[task(command = \"a\", command = \"b\")] struct A;", "said twice", "command = \"b\""),
            ("#[task(command = \"a\", timeout = \"30\")] struct A;", "write a span of time", "\"30\""),
            ("#[task(command = \"a\", timeout = 30)] struct A;", "write a span of time", "30"),
            ("#[task(command = \"a\", output = \"u8\")] struct A;", "write a type", "\"u8\""),
            ("#[task(command = \"a\", backoff = \"5m..1s\")] struct A;", "shorter than the first", "\"5m..1s\""),
            ("#[task(command = \"a\", attempts = \"4\")] struct A;", "expected integer literal", "\"4\""),
            ("#[task(command = \"a\", groups(t = 1, \"t\" = 2))] struct A;", "group t is declared twice", "\"t\""),
            ("#[task(command = \"a\", groups(tenant()))] struct A;", "a limit, a rate or both", ""),
            ("#[task(command = \"a\", groups(t(limit = 1, burst = 2)))] struct A;", "belongs to a rate", "2"),
            ("#[task(command = \"a\", groups(t(rate = \"many\")))] struct A;", "write a rate as", "\"many\""),
            (
                "#[task(command = \"a\", unique(scope = \"for ever\"))] struct A;",
                "there are: pending, active",
                "\"for ever\"",
            ),
            ("#[task(command = \"a\", unique(on_duplicate = \"x\"))] struct A;", "keep, replace, merge", "\"x\""),
            (
                "#[task(command = \"a\", groups(tenant = 1))] struct A { #[task(key)] tennant: String }",
                "declares no group tennant; there are: tenant",
                "tennant",
            ),
            (
                "#[task(command = \"a\")] struct A { #[task(key = \"total\")] t: String }",
                "nobody gives a key",
                "\"total\"",
            ),
            ("#[task(command = \"a\")] struct A(#[task(key)] String);", "this field has no name", "key"),
            ("#[task(command = \"a\")] struct A { #[task(queue)] t: String }", "there are: unique, key", "queue"),
            ("#[task(command = \"a\")] struct A { #[task(unique)] t: Option<u8> }", "an Option can't be", "t"),
            (
                "#[task(command = \"a\")] struct A { #[task(key = \"t\")] a: u8, #[task(key = \"t\")] b: u8 }",
                "another field is the key in group t",
                "\"t\"",
            ),
            ("#[task(command = \"a\")] enum A { B(#[task(unique)] u8) }", "implement Task by hand", "#[task(unique)]"),
        ] {
            let (message, text) = mistake(source);
            assert!(message.contains(told), "{source}: {message}");
            assert!(at.is_empty() || text == at, "{source}: it points at {text:?}");
        }
    }

    #[test]
    fn names_and_numbers_are_checked_where_they_stand() {
        let source = "#[task(command = \"two words\", queue = \"q\", attempts = 0, groups(t = 1))] struct A;";
        let written = task(&syn::parse_str(source).unwrap()).unwrap().to_string();
        for check in ["check_name (\"two words\")", "check_name (\"q\")", "check_name (\"t\")", "check_attempts (0)"] {
            assert!(written.contains(check), "{check}: {written}");
        }
    }
}
