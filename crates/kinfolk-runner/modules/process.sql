-- The process {process}, in the seven steps of docs/supervisors.md. The schema is quoted, since its name may be a word of SQL.

-- 1. The root, and its facts. State is read from facts; nothing here is ever changed.
create table "{schema}".{root} (
    {root}_id bigint generated always as identity primary key,
    {datum} {datum_type} not null{datum_refers},
    max_attempts integer not null default 2 check (max_attempts between 1 and 1000),
    retry_delay interval not null default '0' check (retry_delay >= '0'),
    recheck_delay interval not null default '1 minute' check (recheck_delay > '0'),
    max_runs integer not null default 20 check (max_runs > 0),
    created_at timestamptz not null default now()
);
create table "{schema}".{root}_scheduled (
    {root}_id bigint not null references "{schema}".{root},
    attempt integer not null,
    at timestamptz not null default now(),
    primary key ({root}_id, attempt)
);
create table "{schema}".{root}_failed (
    {root}_id bigint not null references "{schema}".{root},
    attempt integer not null,
    error text not null,
    at timestamptz not null default now(),
    primary key ({root}_id, attempt)
);
create table "{schema}".{root}_succeeded (
    {root}_id bigint primary key references "{schema}".{root},
    answer jsonb,
    at timestamptz not null default now()
);
create table "{schema}".{root}_run (
    {root}_id bigint not null references "{schema}".{root},
    run integer not null,
    at timestamptz not null default now(),
    primary key ({root}_id, run)
);
create table "{schema}".{root}_stuck (
    {root}_id bigint not null references "{schema}".{root},
    runs integer not null,
    at timestamptz not null default now(),
    primary key ({root}_id, runs)
);
create table "{schema}".{root}_resumed (
    {root}_id bigint not null references "{schema}".{root},
    runs integer not null,
    at timestamptz not null default now(),
    primary key ({root}_id, runs),
    foreign key ({root}_id, runs) references "{schema}".{root}_stuck
);
do $$
declare
    v_table text;
begin
    foreach v_table in array array['', '_scheduled', '_failed', '_succeeded', '_run', '_stuck', '_resumed'] loop
        execute format('create trigger refuse_change before update or delete on "{schema}".%I '
            'for each row execute function "{schema}".refuse_change()', '{root}' || v_table);
        execute format('create trigger refuse_truncate before truncate on "{schema}".%I '
            'for each statement execute function "{schema}".refuse_change()', '{root}' || v_table);
    end loop;
end
$$;

create function "{schema}".has_{root}_succeeded({root}_id bigint) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select exists (select from "{schema}".{root}_succeeded f where f.{root}_id = $1) $$;

create function "{schema}".count_{root}_failures({root}_id bigint) returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select count(*)::integer from "{schema}".{root}_failed f where f.{root}_id = $1 $$;

create function "{schema}".count_{root}_scheduled({root}_id bigint) returns integer
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select count(*)::integer from "{schema}".{root}_scheduled f where f.{root}_id = $1 $$;

-- Stuck as long as the last such fact was not followed by one that it was resumed.
create function "{schema}".is_{root}_stuck({root}_id bigint) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select
        from "{schema}".{root}_stuck f
        where f.{root}_id = $1
            and not exists (select from "{schema}".{root}_resumed r where r.{root}_id = $1 and r.runs = f.runs))
$$;

-- Wakes the supervisor: the one that waits to look again looks now, or there is a new one. Called after a new fact, under the root's lock.
create function "{schema}".wake_{process}({root}_id bigint, due timestamptz default null, delay interval default null)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_key text := format('{schema}.{process} %s', {root}_id);
begin
    perform kinfolk.enqueue('db_function', jsonb_build_object('task_type', 'db_function',
        'db_function', '{schema}.{process}_supervisor', '{root}_id', {root}_id), due => due, delay => delay, unique_key => v_key);
    if num_nonnulls(due, delay) = 0 then
        perform kinfolk.hasten('db_function', v_key);
    end if;
end
$$;

-- 2. The handlers of an attempt: what to send, and what became of it.
{payload}
create function "{schema}".record_{short}_success(payload jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint := payload #>> '{original_payload,{root}_id}';
begin
    perform from "{schema}".{root} r where r.{root}_id = v_id for update;
    insert into "{schema}".{root}_succeeded ({root}_id, answer)
    values (v_id, payload -> 'worker_payload')
    on conflict do nothing;
    perform "{schema}".wake_{process}(v_id);
    return jsonb_build_object('success', true);
end
$$;

create function "{schema}".record_{short}_failure(payload jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint := payload #>> '{original_payload,{root}_id}';
begin
    perform from "{schema}".{root} r where r.{root}_id = v_id for update;
    insert into "{schema}".{root}_failed ({root}_id, attempt, error)
    values (v_id, (payload #>> '{original_payload,attempt}')::integer, coalesce(payload ->> 'error', 'no reason given'))
    on conflict do nothing;
    perform "{schema}".wake_{process}(v_id);
    return jsonb_build_object('success', true);
end
$$;

-- 3. The supervisor: facts in, a decision, and what follows from it. May be run at any time, and by two at once.
create function "{schema}".{process}_supervisor(payload jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint := payload ->> '{root}_id';
    v_root "{schema}".{root};
    v_runs integer;
    v_failures integer;
    v_scheduled integer;
    v_resumed integer;
    v_pause interval;
    v_next text;
begin
    -- Input. The root's lock keeps others from deciding on the same facts.
    select r.* into v_root from "{schema}".{root} r where r.{root}_id = v_id for update;
    if not found then
        return jsonb_build_object('success', false,
            'validation_failure_message', format('there is no {root} %s', coalesce(payload ->> '{root}_id', 'null')));
    end if;
    v_runs := 1 + (select count(*) from "{schema}".{root}_run f where f.{root}_id = v_id);
    v_failures := "{schema}".count_{root}_failures(v_id);
    v_scheduled := "{schema}".count_{root}_scheduled(v_id);
    v_resumed := (select count(*) from "{schema}".{root}_resumed f where f.{root}_id = v_id);

    -- Compute. The first attempt is made at once, and each failure doubles the pause before the next.
    v_pause := case when v_failures = 0 then interval '0' else v_root.retry_delay * power(2, least(v_failures, 16) - 1) end;
    v_next := case
        when "{schema}".has_{root}_succeeded(v_id) then 'succeeded'
        when "{schema}".is_{root}_stuck(v_id) then 'stuck'
        when v_failures >= v_root.max_attempts then 'failed'
        when v_runs > v_root.max_runs * (1 + v_resumed) then 'get_stuck'
        when v_scheduled <= v_failures then 'schedule'
        else 'wait'
    end;

    -- Output.
    if v_next = 'get_stuck' then
        insert into "{schema}".{root}_stuck ({root}_id, runs) values (v_id, v_runs - 1);
    elsif v_next in ('schedule', 'wait') then
        insert into "{schema}".{root}_run ({root}_id, run) values (v_id, v_runs);
        if v_next = 'schedule' then
            insert into "{schema}".{root}_scheduled ({root}_id, attempt) values (v_id, v_scheduled + 1);
            perform kinfolk.enqueue('{command}', jsonb_build_object('task_type', '{command}', '{root}_id', v_id,
                'attempt', v_scheduled + 1, 'before_handler', '{schema}.get_{short}_payload',
                'success_handler', '{schema}.record_{short}_success', 'error_handler', '{schema}.record_{short}_failure'),
                delay => v_pause);
        end if;
        -- A safety net: a new fact wakes it before that. An attempt that is still to begin is no reason to look.
        perform "{schema}".wake_{process}(v_id, delay => v_root.recheck_delay + greatest(interval '0', v_pause - (
            select now() - max(f.at)
            from "{schema}".{root}_scheduled f
            where f.{root}_id = v_id)));
    end if;
    return jsonb_build_object('success', true, 'payload', jsonb_build_object('next', v_next, 'failures', v_failures));
end
$$;

-- 4. The kickoff, in the transaction of its caller.
create function "{schema}".kickoff_{root}(
    {datum} {datum_type}, scheduled_at timestamptz default null, max_attempts integer default 2,
    retry_delay interval default '0', recheck_delay interval default '1 minute', max_runs integer default 20
) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint;
begin
    insert into "{schema}".{root} as r ({datum}, max_attempts, retry_delay, recheck_delay, max_runs)
    values ({datum}, max_attempts, retry_delay, recheck_delay, max_runs)
    returning r.{root}_id into v_id;
    perform "{schema}".wake_{process}(v_id, due => coalesce(scheduled_at, now()));
    return v_id;
end
$$;

-- What can be done about a process that is stuck: it may run as often again. False where it is not.
create function "{schema}".resume_{root}({root}_id bigint) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform from "{schema}".{root} r where r.{root}_id = $1 for update;
    if not "{schema}".is_{root}_stuck($1) then
        return false;
    end if;
    insert into "{schema}".{root}_resumed ({root}_id, runs)
    select f.{root}_id, max(f.runs) from "{schema}".{root}_stuck f where f.{root}_id = $1 group by f.{root}_id;
    perform "{schema}".wake_{process}($1);
    return true;
end
$$;

-- What `kinfolk doctor` tells of it.
create function "{schema}".find_stuck_{process}() returns table (subject text, health text, found text, remedy text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    with stuck as materialized (
        select f.{root}_id as id, f.runs
        from "{schema}".{root}_stuck f
        where not exists (select from "{schema}".{root}_resumed r where r.{root}_id = f.{root}_id and r.runs = f.runs)
            and not "{schema}".has_{root}_succeeded(f.{root}_id)
    )
    select '{schema}.{process}', case when count(*) > 0 then 'bad' else 'good' end,
        case
            when count(*) = 0 then 'none is stuck'
            else format('%s stuck, such as %s', count(*),
                (select string_agg(format('{root} %s after %s runs', f.id, f.runs), ', ')
                from (select * from stuck order by id limit 3) f))
        end,
        case
            when count(*) > 0
            then format('find out why in `kinfolk errors`; then let it go on, in psql: select %I.resume_{root}(%s);', '{schema}',
                min(s.id))
            else ''
        end
    from stuck s
$$;

-- 5. Grants: each function by itself, the worker what it must call.
revoke all on all tables in schema "{schema}" from public;
revoke all on all routines in schema "{schema}" from public;
grant usage on schema "{schema}" to kinfolk_worker, kinfolk_producer, kinfolk_operator, kinfolk_owner;
grant execute on function "{schema}".{process}_supervisor(jsonb), "{schema}".get_{short}_payload(jsonb),
    "{schema}".record_{short}_success(jsonb), "{schema}".record_{short}_failure(jsonb)
to kinfolk_worker;
grant execute on function "{schema}".kickoff_{root}({datum_type}, timestamptz, integer, interval, interval, integer),
    "{schema}".has_{root}_succeeded(bigint), "{schema}".count_{root}_failures(bigint), "{schema}".count_{root}_scheduled(bigint)
to kinfolk_producer;
grant execute on function "{schema}".resume_{root}(bigint), "{schema}".is_{root}_stuck(bigint) to kinfolk_operator;
grant execute on function "{schema}".find_stuck_{process}() to kinfolk_owner;
