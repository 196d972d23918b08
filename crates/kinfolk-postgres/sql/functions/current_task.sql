-- The task that the caller handles: known from the context that `enter` opened, and checked against the running row, since
-- anyone can set a variable. Refused outside a handler, and in one whose attempt was given to someone else.

create or replace function kinfolk.handled() returns kinfolk.task
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id bigint := nullif(current_setting('kinfolk.task', true), '')::bigint;
    v_token uuid := nullif(current_setting('kinfolk.token', true), '')::uuid;
    v_task kinfolk.task;
begin
    select t.*
    into v_task
    from kinfolk.task t
    where t.id = v_id
        and t.token = v_token
        and t.state = 'running';
    if not found then
        if v_id is null then
            raise exception using errcode = 'KF010', message = 'this is not inside a handler',
                hint = 'call it in a function that is registered as a handler, when a worker runs it; elsewhere use kinfolk.enqueue';
        end if;
        raise exception using errcode = 'KF010', message = format('task %s is no longer with this attempt', v_id);
    end if;
    return v_task;
end
$$;

create or replace function kinfolk.current_task() returns bigint
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select (kinfolk.handled()).id $$;

-- The keys of the task that the caller handles, by the names of their groups: {"tenant": "acme"}.
create or replace function kinfolk.current_keys() returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select coalesce((kinfolk.handled()).keys, '{}') $$;

-- Whether a child of the same parent has failed. Without a number: of the task that the caller handles.
create or replace function kinfolk.has_failed_siblings(task bigint default null) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id bigint := coalesce(task, kinfolk.current_task());
begin
    return exists (
        select
        from kinfolk.task t
        join kinfolk.fan_out f on f.id = t.fan_out_id
        where t.id = v_id
            and f.failed > case when t.state = 'failed' then 1 else 0 end);
end
$$;

-- Whether a child has not ended, or is about to be made. Without a number: of the task that the caller handles.
create or replace function kinfolk.has_pending_children(task bigint default null) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id bigint := coalesce(task, kinfolk.current_task());
begin
    return exists (
            select
            from kinfolk.fan_out f
            where f.task_id = v_id
                and f.completed + f.failed + f.cancelled < f.total)
        or exists (
            select
            from kinfolk.intent i
            join kinfolk.task t on t.id = i.task_id and t.token = i.token
            where i.task_id = v_id
                and i.kind = 'child');
end
$$;
