-- Whether anything is going on among commands, for a front end that shows it. A status is a stored flag over a set of
-- commands; whoever looks at it again turns it, and says so on the channel `kinfolk_status`, in one transaction. Looks are
-- made one after another (an advisory lock of their own), each with a snapshot taken under that lock: an old look never
-- overwrites a newer one, so no status sticks.

-- Whether a task of one of these commands is running, waits, or is pending and not merely scheduled for later. Reads
-- `task_ready` and `task_suspect` by queue and lane, `task_waiting`, `task_backoff`, `task_held`, and all that runs.
create or replace function kinfolk.is_active(p_commands text[]) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    with watched as materialized (
        select c.id
        from kinfolk.command c
        where c.name = any (p_commands)
    )
    select exists (
            select
            from watched w
            cross join kinfolk.queue q
            cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
            where exists (
                    select
                    from kinfolk.task t
                    where t.queue_id = q.id
                        and t.lane = l.lane
                        and t.command_id = w.id
                        and t.state = 'pending'
                        and t.gate = 'open'
                        and not t.suspect)
                or exists (
                    select
                    from kinfolk.task t
                    where t.queue_id = q.id
                        and t.lane = l.lane
                        and t.command_id = w.id
                        and t.state = 'pending'
                        and t.gate = 'open'
                        and t.suspect))
        or exists (
            select
            from watched w
            where exists (select from kinfolk.task t where t.command_id = w.id and t.state = 'waiting')
                or exists (select from kinfolk.task t where t.command_id = w.id and t.gate in ('limit', 'after') and t.state = 'pending')
                or exists (select from kinfolk.task t where t.command_id = w.id and t.gate = 'time' and t.runs > 0))
        or exists (
            select
            from kinfolk.task t
            where t.state = 'running'
                and t.worker_id is not null
                and t.command_id in (select w.id from watched w))
$$;

-- All statuses, by name, as they were last looked at.
create or replace function kinfolk.statuses()
returns table (name text, commands text[], active boolean, changed_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select s.name, s.commands, s.active, s.changed_at
    from kinfolk.status s
    order by s.name
$$;

-- Makes a status, or changes what it watches, and looks at it at once.
create or replace function kinfolk.put_status(p_name text, p_commands text[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_was boolean;
    v_is boolean;
begin
    if p_commands is null then
        raise exception using errcode = 'KF001', message = 'p_commands is null',
            hint = 'give the commands that the status watches';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.require_name('status', p_name);
    perform kinfolk.require_name('command', c) from unnest(p_commands) c;
    if cardinality(p_commands) > kinfolk.status_commands_max() then
        raise exception using errcode = 'KF001', message = format('%s commands of a status', cardinality(p_commands)),
            hint = format('at most %s', kinfolk.status_commands_max());
    end if;
    perform pg_advisory_xact_lock(1263160907, 0);
    v_was := (select s.active from kinfolk.status s where s.name = p_name);
    v_is := kinfolk.is_active(p_commands);
    insert into kinfolk.status as s (name, commands, active, changed_at)
    values (p_name, p_commands, v_is, kinfolk.clock())
    on conflict (name) do update set
        commands = excluded.commands,
        active = excluded.active,
        changed_at = case when s.active = excluded.active then s.changed_at else excluded.changed_at end;
    if v_is <> coalesce(v_was, false) then
        perform pg_notify('kinfolk_status', json_build_object('name', p_name, 'active', v_is)::text);
    end if;
end
$$;

-- Removes a status. Answers whether there was one.
create or replace function kinfolk.remove_status(p_name text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_found boolean;
begin
    if p_name is null then
        raise exception using errcode = 'KF001', message = 'p_name is null',
            hint = 'give the name of a status';
    end if;
    perform kinfolk.require_read_committed();
    perform pg_advisory_xact_lock(1263160907, 0);
    delete from kinfolk.status s where s.name = p_name;
    v_found := found;
    if not exists (select from kinfolk.status) then
        delete from kinfolk.started;
    end if;
    return v_found;
end
$$;
