//! What the catalogue says of everything that we install: functions that run as their owners have a pinned search path, and nothing is open
//! to everyone.

use kinfolk_runner::new_module;

use crate::office::Office;

/// The schemas that hold what we install.
const OURS: &str = "('kinfolk', 'comms', 'refund')";

/// One row for each thing that is not as it must be.
const WRONG: [(&str, &str); 6] = [
    (
        "a definer function without a pinned path",
        "select p.oid::regprocedure::text from pg_proc p where p.pronamespace in (select oid from pg_namespace where nspname in OURS)
            and p.prosecdef and not exists (
                select from unnest(p.proconfig) c where c ~ '^search_path=pg_catalog, (\"?kinfolk\"?, )?pg_temp$')",
    ),
    (
        "a trigger function without a pinned path",
        "select p.oid::regprocedure::text from pg_proc p where p.pronamespace in (select oid from pg_namespace where nspname in OURS)
            and p.prorettype = 'trigger'::regtype and not exists (select from unnest(p.proconfig) c where c like 'search_path=%')",
    ),
    (
        "a routine that anyone may call",
        "select p.oid::regprocedure::text from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
            where p.pronamespace in (select oid from pg_namespace where nspname in OURS) and a.grantee = 0",
    ),
    (
        "a table, view or sequence that is open to anyone",
        "select c.oid::regclass::text from pg_class c,
                aclexplode(coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::\"char\", c.relowner))) a
            where c.relnamespace in (select oid from pg_namespace where nspname in OURS) and c.relkind in ('r', 'v', 'm', 'p', 'S', 'f')
                and a.grantee = 0",
    ),
    (
        "a schema that is open to anyone",
        "select n.nspname::text from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
            where n.nspname in OURS and a.grantee = 0",
    ),
    (
        "something that belongs to a role that can log in",
        "select format('%s of %s', o.what, o.owner::regrole) from (
                select p.oid::regprocedure::text as what, p.proowner as owner, p.pronamespace as schema from pg_proc p
                union all
                select c.oid::regclass::text, c.relowner, c.relnamespace from pg_class c
                union all
                select n.nspname::text, n.nspowner, n.oid from pg_namespace n
            ) o join pg_roles r on r.oid = o.owner
            where o.schema in (select oid from pg_namespace where nspname in OURS) and r.rolcanlogin",
    ),
];

#[tokio::test]
async fn nothing_that_we_install_is_open_to_everyone_and_each_definer_function_has_a_pinned_path() {
    let office = Office::new().await;
    office.lab.database.run(&new_module("refund").unwrap()).await;
    let definers = format!(
        "pg_proc p where p.prosecdef and p.pronamespace in (select oid from pg_namespace where nspname in {OURS})"
    );
    assert!(office.count(&definers).await.parse::<u32>().unwrap() > 100);
    for (what, sql) in WRONG {
        assert_eq!(office.lab.database.texts(&sql.replace("OURS", OURS)).await, [""; 0], "{what}");
    }
    office.remove().await;
}

#[tokio::test]
async fn each_thing_that_is_looked_for_would_be_found() {
    let office = Office::new().await;
    let planted = [
        "create function comms.loose() returns int language sql security definer as 'select 1';
         revoke execute on function comms.loose() from public; alter function comms.loose() owner to comms_owner",
        "create function comms.trip() returns trigger language plpgsql as 'begin return new; end';
         revoke execute on function comms.trip() from public; alter function comms.trip() owner to comms_owner",
        "grant execute on function comms.get_email_payload(jsonb) to public",
        "grant select on comms.email_message to public",
        "grant usage on schema comms to public",
        "alter table comms.email_message owner to postgres",
    ];
    for ((what, sql), plant) in WRONG.iter().zip(planted) {
        // Looked at in the transaction that plants it, and undone with it.
        let sql = sql.replace("OURS", OURS);
        let found = format!("do $do$ begin if not exists ({sql}) then raise exception 'not found'; end if; end $do$");
        assert!(office.lab.database.try_run(&format!("begin; {plant}; {found}; rollback")).await.is_ok(), "{what}");
    }
    office.remove().await;
}
