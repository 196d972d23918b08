-- The owner of the module {schema}: it can't log in, and may do what a handler may. The installing role becomes a member, to hand things over.

do $$
declare
    v_is_16 boolean := current_setting('server_version_num')::integer >= 160000;
    -- From PostgreSQL 16 on, the creator of a role is its member, but may not act as it, and gives away only what it may give.
    v_acts text := case when v_is_16 then 'set' else 'member' end;
    v_gives text := case when v_is_16 then 'member with admin option' else 'member' end;
    v_creates boolean := (select r.rolcreaterole or r.rolsuper from pg_catalog.pg_roles r where r.rolname = current_user);
    v_is_new boolean := not exists (select from pg_catalog.pg_roles r where r.rolname = '{schema}_owner');
    v_lacks text := concat_ws('; ',
        case when v_is_new and not v_creates then format('alter role %I createrole', current_user) end,
        case when v_is_new and v_is_16 and not pg_catalog.pg_has_role('kinfolk_handler', v_gives)
            then format('grant kinfolk_handler to %I with admin option', current_user) end,
        -- It was made with this module in another database.
        case when v_is_new or (v_creates and not v_is_16) then null
            when not pg_catalog.pg_has_role('{schema}_owner', v_acts) and not pg_catalog.pg_has_role('{schema}_owner', v_gives)
            then format('grant {schema}_owner to %I', current_user) end,
        case when not pg_catalog.has_database_privilege(current_database(), 'create')
            then format('grant create on database %I to %I', current_database(), current_user) end,
        case when not pg_catalog.pg_has_role('kinfolk_operator', 'usage')
            then format('grant kinfolk_operator to %I', current_user) end);
begin
    if v_lacks <> '' then
        raise exception using errcode = '42501',
            message = format('%I may not install this', current_user), hint = format('as a role that may grant it: %s', v_lacks);
    end if;
    -- Roles belong to the whole cluster: the same module may be installed in another database at this moment.
    for tries in 1..20 loop
        begin
            if not exists (select from pg_catalog.pg_roles r where r.rolname = '{schema}_owner') then
                create role {schema}_owner nologin;
            end if;
            if not pg_catalog.pg_has_role('{schema}_owner', v_acts) then
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
create schema "{schema}" authorization {schema}_owner;
set local role {schema}_owner;

create table "{schema}".module_version (
    version integer primary key,
    installed_at timestamptz not null default now()
);
insert into "{schema}".module_version (version) values (1);
grant usage on schema "{schema}" to kinfolk_viewer;
grant select on "{schema}".module_version to kinfolk_viewer;

-- Facts are only ever added.
create function "{schema}".refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = '42501', message = format('%s is a fact: it is only ever added to', tg_table_name),
        hint = 'add a fact that says what is so now';
end
$$;
