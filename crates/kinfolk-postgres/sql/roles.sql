-- The roles of the engine. Roles belong to the whole cluster: several databases may make them at the same moment, so
-- one that is there already, or comes up meanwhile, is fine. The owner can't log in; the one who migrates becomes a
-- member of it, to hand the schema over.

do $$
declare
    v_role text;
begin
    foreach v_role in array array[
        'kinfolk_owner', 'kinfolk_producer', 'kinfolk_worker', 'kinfolk_viewer', 'kinfolk_operator',
        'kinfolk_handler']
    loop
        if not exists (select from pg_catalog.pg_roles r where r.rolname = v_role) then
            begin
                execute format('create role %I nologin', v_role);
            exception
                when duplicate_object or unique_violation then
                    null;
                when insufficient_privilege then
                    raise exception using
                        errcode = 'insufficient_privilege',
                        message = format('%I may not create the role %I', current_user, v_role),
                        hint = 'migrate once as a role with createrole, or have the kinfolk_ roles created first';
            end;
        end if;
    end loop;

    -- From PostgreSQL 16 on, the creator of a role is its member, but may not act as it.
    if not pg_has_role('kinfolk_owner', case when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end)
    then
        execute format('grant kinfolk_owner to %I', current_user);
    end if;
    -- The doctor looks at other sessions. The role that migrates may not be able to allow that; then the doctor sees less.
    if not pg_has_role('kinfolk_owner', 'pg_read_all_stats', 'member') then
        begin
            grant pg_read_all_stats to kinfolk_owner;
        exception
            when insufficient_privilege or unique_violation or internal_error then
                null;
        end;
    end if;
    if not pg_has_role('kinfolk_worker', 'kinfolk_handler', 'member') then
        begin
            grant kinfolk_handler to kinfolk_worker;
        exception
            when unique_violation or internal_error then
                null;
        end;
    end if;
    if not pg_has_role('kinfolk_worker', 'kinfolk_producer', 'member') then
        begin
            grant kinfolk_producer to kinfolk_worker;
        exception
            when unique_violation or internal_error then
                null;
        end;
    end if;
end
$$;

-- Who owns a schema may put functions of his own into it, which would then run with the owner's rights.
do $$
begin
    if exists (
        select
        from pg_catalog.pg_namespace n
        where n.nspname = 'kinfolk'
            and n.nspowner <> 'kinfolk_owner'::regrole)
    then
        raise exception using
            errcode = 'insufficient_privilege',
            message = 'the schema kinfolk is there already, and is not owned by kinfolk_owner',
            hint = 'find out who made it and why; then drop it, or give it another name, and migrate again';
    end if;
end
$$;

create schema if not exists kinfolk authorization kinfolk_owner;

set local role kinfolk_owner;
