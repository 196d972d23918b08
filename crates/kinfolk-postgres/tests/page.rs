//! The page for those who call the engine from other languages, `docs/sql.md`, has every function that a role may call, with its
//! signature and its roles, and no other; and every code of the engine's own errors.

use std::collections::BTreeSet;

use kinfolk_postgres::testing::{TestDatabase, function_sources};

const PAGE: &str = include_str!("../../../docs/sql.md");

/// A line for each function that someone may call, as the page writes it: name(argument type?, …) -> answer -- roles.
const SIGNATURES: &str = "select p.proname || '(' || coalesce((
        select string_agg(p.proargnames[a.i] || ' ' || replace(format_type(a.t, null), 'timestamp with time zone', 'timestamptz')
            || case when a.i > p.pronargs - p.pronargdefaults then '?' else '' end, ', ' order by a.i)
        from unnest(p.proargtypes::oid[]) with ordinality a(t, i)), '') || ')'
    || case
        when p.proallargtypes is not null then case when p.proretset then ' -> rows (' else ' -> (' end || (
            select string_agg(p.proargnames[a.i] || ' ' || replace(format_type(a.t, null), 'timestamp with time zone', 'timestamptz'),
                ', ' order by a.i)
            from unnest(p.proallargtypes, p.proargmodes) with ordinality a(t, mode, i)
            where a.mode in ('o', 't', 'b')) || ')'
        when p.prokind = 'p' or p.prorettype = 'void'::regtype then ''
        when p.proretset then ' -> rows of ' || format_type(p.prorettype, null)
        else ' -> ' || replace(format_type(p.prorettype, null), 'timestamp with time zone', 'timestamptz')
    end || ' -- ' || (
        select string_agg(replace(a.grantee::regrole::text, 'kinfolk_', ''), ', ' order by a.grantee::regrole::text)
        from aclexplode(p.proacl) a
        where a.grantee <> p.proowner)
from pg_proc p
where p.pronamespace = 'kinfolk'::regnamespace
    and exists (select from aclexplode(p.proacl) a where a.grantee <> p.proowner)";

#[tokio::test]
async fn the_page_has_every_function_that_a_role_may_call_and_no_other() {
    let database = TestDatabase::create().await;
    let granted: BTreeSet<String> = database.texts(SIGNATURES).await.into_iter().collect();
    let reference = PAGE.split_once("\n## Reference\n").expect("a reference").1;
    let blocks = reference.split("```text\n").skip(1).filter_map(|block| block.split_once("\n```"));
    let written: BTreeSet<String> = blocks.flat_map(|(block, _)| block.lines()).map(str::to_owned).collect();
    let mut wrong: Vec<String> = Vec::new();
    wrong.extend(granted.difference(&written).map(|line| format!("add to a block of the reference: {line}")));
    wrong.extend(written.difference(&granted).map(|line| format!("take out of the reference: {line}")));
    for name in granted.iter().filter_map(|line| line.split('(').next()) {
        if !reference.contains(&format!("\n| `{name}` | ")) {
            wrong.push(format!("say in a table of the reference what it does: | `{name}` | … |"));
        }
    }
    assert!(wrong.is_empty(), "docs/sql.md is not what the database has:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_page_has_every_code_of_our_own_errors() {
    let database = TestDatabase::create().await;
    let sources = function_sources(&database.store().await).await.unwrap().join("\n");
    let codes: BTreeSet<&str> = sources
        .match_indices("'KF")
        .filter_map(|(at, _)| sources.get(at + 1..at + 6))
        .filter(|code| code[2..].bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    assert!(codes.len() > 12, "{codes:?}");
    let missing: Vec<&&str> = codes.iter().filter(|code| !PAGE.contains(&format!("\n| `{code}` | "))).collect();
    assert!(missing.is_empty(), "docs/sql.md lacks, in its table of errors: {missing:?}");
}
