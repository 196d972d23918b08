-- The owner of the module {schema}: it can't log in, and may do what a handler may. The installing role becomes a member, to hand things over.

do $$
begin
    -- Roles belong to the whole cluster: the same module may be installed in another database at this moment.
    for tries in 1..20 loop
        begin
            if not exists (select from pg_catalog.pg_roles r where r.rolname = '{schema}_owner') then
                create role {schema}_owner nologin;
            end if;
            if not pg_catalog.pg_has_role(current_user, '{schema}_owner', 'member') then
                execute format('grant {schema}_owner to %I', current_user);
            end if;
            if not pg_catalog.pg_has_role('{schema}_owner', 'kinfolk_handler', 'member') then
                grant kinfolk_handler to {schema}_owner;
            end if;
            exit;
        exception
            when duplicate_object or unique_violation or internal_error then
                if tries = 20 then
                    raise;
                end if;
                perform pg_catalog.pg_sleep(0.1);
        end;
    end loop;
end
$$;
create schema {schema} authorization {schema}_owner;
set local role {schema}_owner;

create table {schema}.module_version (
    version integer primary key,
    installed_at timestamptz not null default now()
);
insert into {schema}.module_version (version) values (1);
grant usage on schema {schema} to kinfolk_viewer;
grant select on {schema}.module_version to kinfolk_viewer;

-- Facts are only ever added.
create function {schema}.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = '42501', message = format('%s is a fact: it is only ever added to', tg_table_name),
        hint = 'add a fact that says what is so now';
end
$$;
