-- What groups a command has. `p_groups`: an object of specifications by name, as `kinfolk_core::group::Groups` is written, each
-- with `limit`, `rate` (`count`, `per_us`, `burst`), `hold`, `shared`.

-- The groups of these commands, which may be named more than once. `is_plain`: it has one limit for all keys, and there is nothing
-- else to look at. Without settings of its own, so that it is planned as a part of whoever asks.
create or replace function kinfolk.declarations(p_commands integer[])
returns table (command_id integer, name text, group_id integer, hold boolean, is_plain boolean)
language sql stable
as $$
    select cg.command_id, cg.name, cg.group_id, g.hold,
        not g.hold
            and g.rate_count is null
            and g.set_rate_count is null
            and not exists (select from kinfolk.slot_setting s where s.group_id = g.id)
            and not exists (select from kinfolk.spent s where s.group_id = g.id)
            and not exists (select from kinfolk.reserved r where r.group_id = g.id)
    from kinfolk.command_group cg
    join kinfolk.slot_group g on g.id = cg.group_id
    where cg.command_id = any (p_commands)
$$;

-- Groups as people write them, in the one form that the rest understands.
create or replace function kinfolk.groups_given(p_groups jsonb) returns jsonb
language sql immutable
as $$
    select case jsonb_typeof(p_groups)
        when 'number' then jsonb_build_object('total', kinfolk.group_given(p_groups))
        when 'object' then (
            select coalesce(jsonb_object_agg(g.name, kinfolk.group_given(g.spec)), '{}')
            from jsonb_each(p_groups) as g(name, spec))
        else p_groups
    end
$$;

-- One of them: a number is its limit; a rate may give its span as an interval, `per`, and has a burst of 1 unless it
-- says otherwise.
create or replace function kinfolk.group_given(p_spec jsonb) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_strange text;
    v_per bigint;
begin
    if jsonb_typeof(p_spec) = 'number' then
        p_spec := jsonb_build_object('limit', p_spec);
    elsif jsonb_typeof(p_spec) <> 'object' then
        raise exception using errcode = 'KF001', message = format('a group of %s', left(p_spec::text, 60)),
            hint = 'give its limit, or an object';
    end if;
    select k.name
    into v_strange
    from (
        select jsonb_object_keys(p_spec) as name
        union all
        select 'rate.' || jsonb_object_keys(case when jsonb_typeof(p_spec -> 'rate') = 'object' then p_spec -> 'rate' end)
    ) k
    where k.name <> all ('{limit,rate,hold,shared,rate.count,rate.per,rate.per_us,rate.burst}')
    limit 1;
    if found then
        raise exception using errcode = 'KF001', message = format('unknown key %L in a group', v_strange),
            hint = 'there are limit, rate (count, per, burst), hold and shared';
    end if;
    if jsonb_typeof(p_spec #> '{rate,per}') is not null then
        begin
            v_per := kinfolk.micros((p_spec #>> '{rate,per}')::interval);
        exception
            when data_exception then
                raise exception using errcode = 'KF001', message = format('a rate per %s', p_spec #> '{rate,per}'),
                    hint = 'write the span as in 1 second';
        end;
    end if;
    return jsonb_build_object('limit', p_spec -> 'limit', 'hold', coalesce(p_spec -> 'hold', 'false'),
        'shared', coalesce(p_spec -> 'shared', 'false'), 'rate', case
            when jsonb_typeof(p_spec -> 'rate') = 'object' then jsonb_build_object('count', p_spec #> '{rate,count}',
                'per_us', coalesce(p_spec #> '{rate,per_us}', to_jsonb(v_per)),
                'burst', coalesce(p_spec #> '{rate,burst}', '1'))
        end);
end
$$;

-- Locks the admission of all that a registration with these groups may change, before any row; nothing where it changes
-- nothing. Answers which of the commands have to be declared anew, in their order.
--
-- Where groups come, go, or hold slots otherwise, what runs has to be counted anew (`enter_running`), and nobody may begin or end
-- meanwhile. Nobody begins: a claim of a command with groups has the locks of all of these until it commits. One of a command
-- without groups has nothing but the shared lock of its queue; so where a command gets its first groups, the queues are
-- locked whole, and who looks there meanwhile is woken. Nobody ends: see `hold_still`.
create or replace function kinfolk.lock_declarations(p_names text[], p_groups jsonb[]) returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_changed integer[];
    v_is_moved boolean;
    v_groups integer[];
    v_queues integer[];
begin
    if cardinality(p_groups) = 0 or not exists (select from unnest(p_groups) g where g is not null) then
        return '{}';
    end if;
    perform kinfolk.require_groups(g) from unnest(p_groups) g where g is not null;
    if kinfolk.changed_declarations(p_names, p_groups) = '{}' then
        return '{}';
    end if;
    perform kinfolk.lock_groups('{0}');
    -- As it is with that lock in hand: nobody else declares or removes a group now.
    v_changed := kinfolk.changed_declarations(p_names, p_groups);
    v_is_moved := exists (
        select
        from unnest(v_changed) n
        left join kinfolk.command c on c.name = p_names[n]
        where kinfolk.shape_of(p_groups[n]) <> kinfolk.shape_of(coalesce(kinfolk.declared_groups(c.id), '{}')));
    if v_is_moved and exists (
        select
        from unnest(v_changed) n
        join kinfolk.command c on c.name = p_names[n]
        where not c.grouped)
    then
        v_queues := array(select q.id from kinfolk.queue q order by q.id);
        perform pg_advisory_xact_lock(1263160902, q) from unnest(v_queues) q;
        perform kinfolk.notify_queues(v_queues, false);
    end if;
    v_groups := array(
        select cg.group_id
        from kinfolk.command c
        join kinfolk.command_group cg on cg.command_id = c.id
        where c.name = any (p_names)
        union
        select g.id
        from unnest(p_groups) as d(groups)
        cross join lateral jsonb_object_keys(d.groups) as k(name)
        join kinfolk.slot_group g on g.name = k.name and g.command_id is null);
    perform kinfolk.lock_groups(v_groups);
    if v_is_moved then
        perform kinfolk.hold_still(p_names, v_groups);
    end if;
    -- point: declare_groups.locked
    return v_changed;
end
$$;

-- Of declared groups, what decides over who holds slots: which there are, whether they are shared, and whether they hold them.
create or replace function kinfolk.shape_of(p_groups jsonb) returns jsonb
language sql immutable
as $$
    select coalesce(jsonb_object_agg(g.name, jsonb_build_array(
        coalesce((g.spec ->> 'hold')::boolean, false), coalesce((g.spec ->> 'shared')::boolean, false))), '{}')
    from jsonb_each(p_groups) as g(name, spec)
$$;

-- Which of these commands, by their place, do not have just these groups. Of a name that is given twice the last counts.
create or replace function kinfolk.changed_declarations(p_names text[], p_groups jsonb[]) returns integer[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(array_agg(g.nth::integer order by g.nth), '{}')
    from unnest(p_names, p_groups) with ordinality as g(name, groups, nth)
    where g.groups is not null
        and g.groups is distinct from coalesce(kinfolk.declared_groups((
            select c.id
            from kinfolk.command c
            where c.name = g.name)), '{}')
        and not exists (
            select
            from unnest(p_names, p_groups) with ordinality as l(name, groups, nth)
            where l.name = g.name
                and l.nth > g.nth
                and l.groups is not null)
$$;

-- The groups of a command as they are declared, null where there are none.
create or replace function kinfolk.declared_groups(p_command integer) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select jsonb_object_agg(cg.name, jsonb_build_object('limit', g.slots, 'hold', g.hold, 'shared', g.command_id is null,
        'rate', case when g.rate_count is not null
            then jsonb_build_object('count', g.rate_count, 'per_us', g.rate_per_us, 'burst', g.rate_burst) end))
    from kinfolk.command_group cg
    join kinfolk.slot_group g on g.id = cg.group_id
    where cg.command_id = p_command
$$;

-- Makes the groups of a command just these. What an operator has set for a group stands as long as the group is there. What runs
-- holds slots of its keys in them from now on. The caller has the admission locks (`lock_declarations`).
create or replace function kinfolk.declare_groups(p_command integer, p_groups jsonb) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_one record;
    v_group integer;
    v_was record;
    -- Where some may have come to need a slot, or to hold none.
    v_moved integer[] := '{}';
begin
    for v_one in
        select d.name, (d.spec ->> 'limit')::integer as slots, coalesce((d.spec ->> 'hold')::boolean, false) as hold,
            coalesce((d.spec ->> 'shared')::boolean, false) as is_shared,
            (d.spec #>> '{rate,count}')::integer as rate_count, (d.spec #>> '{rate,per_us}')::bigint as rate_per_us,
            (d.spec #>> '{rate,burst}')::integer as rate_burst
        from jsonb_each(p_groups) as d(name, spec)
        order by d.name collate "C"
    loop
        select g.id
        into v_group
        from kinfolk.slot_group g
        where g.name = v_one.name
            and g.command_id is not distinct from case when not v_one.is_shared then p_command end;
        if not found then
            insert into kinfolk.slot_group (command_id, name)
            values (case when not v_one.is_shared then p_command end, v_one.name)
            returning id into v_group;
        end if;
        select cg.group_id, g.hold
        into v_was
        from kinfolk.command_group cg
        join kinfolk.slot_group g on g.id = cg.group_id
        where cg.command_id = p_command
            and cg.name = v_one.name;
        if v_was.group_id is distinct from v_group then
            v_moved := v_moved || v_group;
        end if;
        if v_was.group_id <> v_group then
            v_moved := v_moved || v_was.group_id;
            if v_was.hold and v_one.hold then
                perform kinfolk.carry_over(p_command, v_was.group_id, v_group);
            end if;
            perform kinfolk.leave_group(p_command, v_was.group_id);
        end if;
        insert into kinfolk.command_group (command_id, name, group_id)
        values (p_command, v_one.name, v_group)
        on conflict do nothing;
        update kinfolk.slot_group g
        set
            slots = v_one.slots,
            rate_count = v_one.rate_count,
            rate_per_us = v_one.rate_per_us,
            rate_burst = v_one.rate_burst,
            hold = v_one.hold
        where g.id = v_group
            and (g.slots, g.rate_count, g.rate_per_us, g.rate_burst, g.hold) is distinct from
                (v_one.slots, v_one.rate_count, v_one.rate_per_us, v_one.rate_burst, v_one.hold);
        if found then
            if not v_one.hold then
                perform kinfolk.free_idle(v_group);
                v_moved := v_moved || v_group;
            end if;
            perform kinfolk.rein_in(v_group, kinfolk.clock());
            perform kinfolk.mark_group(v_group);
        end if;
    end loop;
    for v_was in
        select cg.group_id
        from kinfolk.command_group cg
        where cg.command_id = p_command
            and not p_groups ? cg.name
        order by cg.group_id
    loop
        perform kinfolk.leave_group(p_command, v_was.group_id);
        v_moved := v_moved || v_was.group_id;
    end loop;
    if v_moved <> '{}' then
        perform kinfolk.enter_running(array(select distinct g.id from kinfolk.slot_group g where g.id = any (v_moved)));
    end if;
    update kinfolk.command c
    set grouped = p_groups <> '{}'
    where c.id = p_command
        and c.grouped <> (p_groups <> '{}');
end
$$;

-- Undeclares a group for a command, and removes it when no other declares it. The caller has its admission lock.
create or replace function kinfolk.leave_group(p_command integer, p_group integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from kinfolk.command_group cg
    where cg.command_id = p_command
        and cg.group_id = p_group;
    if not exists (select from kinfolk.command_group cg where cg.group_id = p_group) then
        perform kinfolk.erase_group(p_group);
        return;
    end if;
    perform kinfolk.note_freed(array_agg(p_group), array_agg(h.key), array_agg(h.task_id))
    from kinfolk.slot s
    cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
    join kinfolk.task t on t.id = h.task_id
    where s.group_id = p_group
        and t.command_id = p_command;
    perform kinfolk.drop_reservations(array(
        select r.task_id
        from kinfolk.reserved r
        join kinfolk.task t on t.id = r.task_id
        where r.group_id = p_group
            and t.command_id = p_command));
    delete from kinfolk.ready_key m
    where m.group_id = p_group
        and m.command_id = p_command;
    perform kinfolk.open_parked(p_group, p_command);
end
$$;

-- Removes a group with all that belongs to it. The caller has its admission lock, and has undeclared it everywhere.
create or replace function kinfolk.erase_group(p_group integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.drop_reservations(array(select r.task_id from kinfolk.reserved r where r.group_id = p_group));
    delete from kinfolk.spent s where s.group_id = p_group;
    delete from kinfolk.slot_setting s where s.group_id = p_group;
    delete from kinfolk.ready_key m where m.group_id = p_group;
    delete from kinfolk.freed f where f.group_id = p_group;
    delete from kinfolk.slot s where s.group_id = p_group;
    delete from kinfolk.slot_group g where g.id = p_group;
    perform kinfolk.open_parked(p_group, null);
end
$$;

-- Opens what waits behind the keys of a group, of one command or of all. Locks the tasks in the order of their numbers.
create or replace function kinfolk.open_parked(p_group integer, p_command integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_parked bigint[] := array(
        select t.id
        from kinfolk.task t
        where t.parked_group = p_group
            and t.gate = 'limit'
            and (p_command is null or t.command_id = p_command)
        order by t.id
        for update);
    v_queues integer[];
begin
    with opened as (
        update kinfolk.task t
        set
            gate = 'open',
            parked_group = null,
            parked_key = null
        from unnest(v_parked) as g(id)
        where t.id = g.id
        returning t.queue_id
    )
    select array_agg(distinct o.queue_id) into v_queues from opened o;
    if v_queues is not null then
        perform kinfolk.notify_queues(v_queues, false);
    end if;
end
$$;

-- Frees the slots of a group that tasks hold which do not run: it no longer holds them for families.
create or replace function kinfolk.free_idle(p_group integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.note_freed(array_agg(p_group), array_agg(h.key), array_agg(h.task_id))
    from kinfolk.slot s
    cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
    join kinfolk.task t on t.id = h.task_id
    where s.group_id = p_group
        and t.state <> 'running';
end
$$;

-- Refuses groups that no store would keep, as `kinfolk_core::group::Groups::check` does.
create or replace function kinfolk.require_groups(p_groups jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_one record;
begin
    if jsonb_typeof(p_groups) <> 'object' then
        raise exception using errcode = 'KF001', message = 'groups must be an object of groups by name';
    end if;
    if (select count(*) from jsonb_object_keys(p_groups)) > kinfolk.groups_max() then
        raise exception using errcode = 'KF001', message = format('a command has at most %s groups', kinfolk.groups_max());
    end if;
    for v_one in select d.name, d.spec from jsonb_each(p_groups) as d(name, spec) loop
        perform kinfolk.require_name('group', v_one.name);
        if exists (
            select
            from unnest(array[v_one.spec -> 'limit', v_one.spec #> '{rate,count}', v_one.spec #> '{rate,per_us}',
                v_one.spec #> '{rate,burst}']) as g(number)
            where not kinfolk.is_whole(g.number))
            or coalesce(jsonb_typeof(v_one.spec -> 'hold'), 'null') not in ('boolean', 'null')
            or coalesce(jsonb_typeof(v_one.spec -> 'shared'), 'null') not in ('boolean', 'null')
        then
            raise exception using errcode = 'KF001', message = format('group %s is %s', v_one.name, left(v_one.spec::text, 100)),
                hint = 'limit, count and burst are whole numbers, hold and shared true or false';
        end if;
        if v_one.name = 'total' and (v_one.spec ->> 'shared')::boolean then
            raise exception using errcode = 'KF001', message = 'a command''s total can''t be shared',
                hint = 'declare a group of another name';
        elsif v_one.spec ->> 'limit' is null and jsonb_typeof(v_one.spec -> 'rate') is distinct from 'object' then
            raise exception using errcode = 'KF001', message = format('group %s has neither a limit nor a rate', v_one.name),
                hint = 'give it one';
        end if;
        perform kinfolk.require_setting((v_one.spec ->> 'limit')::bigint, (v_one.spec #>> '{rate,count}')::bigint,
            (v_one.spec #>> '{rate,per_us}')::bigint, (v_one.spec #>> '{rate,burst}')::bigint);
    end loop;
end
$$;

-- Refuses a limit and a rate that no store would keep, as `kinfolk_core::group::Setting::check` does.
create or replace function kinfolk.require_setting(p_slots bigint, p_count bigint, p_per_us bigint, p_burst bigint)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_slots not between 0 and kinfolk.group_limit_max() then
        raise exception using errcode = 'KF001', message = format('a limit of %s is out of range', p_slots),
            hint = format('it may be %s at most', kinfolk.group_limit_max());
    end if;
    if num_nonnulls(p_count, p_per_us, p_burst) = 0 then
        return;
    end if;
    if num_nulls(p_count, p_per_us, p_burst) > 0 or p_count not between 1 and kinfolk.rate_max()
        or p_burst not between 1 and kinfolk.rate_max() or p_per_us not between 1000 and kinfolk.rate_span_max_us()
        or p_count > p_per_us
    then
        raise exception using errcode = 'KF001',
            message = format('a rate of %s per %s µs with a burst of %s is out of range', p_count, p_per_us, p_burst),
            hint = format('count and burst must be 1 to %s, the span 1 millisecond to 31 days', kinfolk.rate_max());
    end if;
end
$$;

-- Whether a value of JSON is a whole number that the engine can count to, or nothing.
create or replace function kinfolk.is_whole(p_number jsonb) returns boolean
language sql immutable
as $$
    select case coalesce(jsonb_typeof(p_number), 'null')
        when 'null' then true
        when 'number' then abs(p_number::numeric) < 1e18 and p_number::numeric % 1 = 0
        else false
    end
$$;
