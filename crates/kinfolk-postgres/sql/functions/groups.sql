-- Groups as they are: what they are declared as, by which commands, and what an operator has set for all keys (`set`) or for single ones
-- (`keys`). Shared ones by name, then those of commands by command and name.

create or replace function kinfolk.groups()
returns table (name text, command text, commands text[], declared jsonb, set jsonb, keys jsonb)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select g.name, c.name, d.commands,
        kinfolk.setting_shown(g.slots, g.rate_count, g.rate_per_us, g.rate_burst)
            || jsonb_build_object('hold', g.hold, 'shared', g.command_id is null),
        kinfolk.setting_shown(g.set_slots, g.set_rate_count, g.set_rate_per_us, g.set_rate_burst),
        k.keys
    from kinfolk.slot_group g
    left join kinfolk.command c on c.id = g.command_id
    cross join lateral (
        select array_agg(o.name order by o.name) as commands
        from kinfolk.command_group cg
        join kinfolk.command o on o.id = cg.command_id
        where cg.group_id = g.id
    ) d
    cross join lateral (
        select coalesce(jsonb_object_agg(s.key, kinfolk.setting_shown(s.slots, s.rate_count, s.rate_per_us, s.rate_burst)), '{}') as keys
        from kinfolk.slot_setting s
        where s.group_id = g.id
    ) k
    order by c.name nulls first, g.name
$$;

-- A page of the keys that are in use, in the order of groups (see above) and keys: tasks hold slots of them, or wait behind
-- them, or nothing may start under them until some time. `blocking`: only those that tasks wait behind.
--
-- Steps from key to key in `task_parked` and `spent`, however many tasks there are in each; reads the pages of `slot` once for
-- each thousand keys.
create or replace function kinfolk.keys(
    group_name text default null, command text default null, blocking boolean default false, after_command text default null,
    after_group text default null, after_key text default null, page integer default 100
) returns table (name text, owner text, key text, slots integer, held bigint, holders bigint[], waiters bigint, until timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := kinfolk.clock();
    v_left integer := least(greatest(keys.page, 1), kinfolk.page_max());
    v_group record;
    v_key text;
    v_held text[];
    v_row record;
begin
    for v_group in
        select g.id, g.name, c.name as owner,
            case when g.name = keys.after_group and c.name is not distinct from keys.after_command then keys.after_key end as after
        from kinfolk.slot_group g
        left join kinfolk.command c on c.id = g.command_id
        where (keys.group_name is null or (g.name = keys.group_name and c.name is not distinct from keys.command))
            and (keys.after_group is null
                or (c.name is not null, coalesce(c.name, ''), g.name)
                    >= (keys.after_command is not null, coalesce(keys.after_command, ''), keys.after_group))
        order by c.name nulls first, g.name
    loop
        v_key := v_group.after;
        v_held := null;
        while v_left > 0 loop
            if v_held is null then
                v_held := case when not keys.blocking then kinfolk.held_keys(v_group.id, v_key, 1000) end;
            end if;
            v_key := least(v_held[1] collate "C", kinfolk.next_key(v_group.id, v_key));
            exit when v_key is null;
            if v_key = v_held[1] then
                v_held := nullif(v_held[2:], '{}');
            end if;
            select h.held, h.holders, w.waiters, r.opens_at, kinfolk.slots_of(v_group.id, v_key) as slots
            into v_row
            from kinfolk.key_rooms(array[v_group.id], array[v_key], v_now) r
            cross join lateral (
                select count(*) as held, (array_agg(h.task_id order by h.task_id))[:kinfolk.holders_shown_max()] as holders
                from kinfolk.holders_of(v_group.id, v_key) h
            ) h
            cross join lateral (
                select count(*) as waiters
                from kinfolk.task t
                where t.parked_group = v_group.id
                    and t.parked_key = v_key
                    and t.gate = 'limit'
            ) w;
            if v_row.waiters > 0 or (not keys.blocking and (v_row.held > 0 or v_row.opens_at is not null)) then
                return query select v_group.name, v_group.owner, v_key, v_row.slots, v_row.held,
                    coalesce(v_row.holders, '{}'), v_row.waiters, v_row.opens_at;
                v_left := v_left - 1;
            end if;
        end loop;
    end loop;
end
$$;

-- The first keys of a group, after this one (null: from the start), on the pages of its slots.
create or replace function kinfolk.held_keys(p_group integer, p_after text, p_most integer) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return array(
        select distinct h.key
        from kinfolk.slot s
        cross join lateral unnest(s.keys) as h(key)
        where s.group_id = p_group
            and (p_after is null or h.key > p_after)
        order by h.key
        limit p_most);
end
$$;

-- The key of a group that comes after this one (null: the first) among those that someone waits behind, or that have a rate.
create or replace function kinfolk.next_key(p_group integer, p_after text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    -- A total has the empty key: before all others.
    v_first boolean := p_after is null;
begin
    return (
        select min(k.key collate "C")
        from (
            (
                select t.parked_key as key
                from kinfolk.task t
                where t.parked_group = p_group
                    and t.gate = 'limit'
                    and (v_first or t.parked_key > p_after)
                order by t.parked_key
                limit 1
            )
            union all
            (
                select s.key
                from kinfolk.spent s
                where s.group_id = p_group
                    and (v_first or s.key > p_after)
                order by s.key
                limit 1
            )
        ) k);
end
$$;

-- The slots that a key has now; null: as many as it likes.
create or replace function kinfolk.slots_of(p_group integer, p_key text) returns integer
language sql stable
as $$
    select coalesce((
            select s.slots
            from kinfolk.slot_setting s
            where s.group_id = p_group
                and s.key = p_key), g.set_slots, g.slots)
    from kinfolk.slot_group g
    where g.id = p_group
$$;

-- A limit and a rate, as `kinfolk_core::group::Setting` is written.
create or replace function kinfolk.setting_shown(p_slots integer, p_count integer, p_per_us bigint, p_burst integer)
returns jsonb
language sql immutable
as $$
    select jsonb_build_object('limit', p_slots, 'rate', case when p_count is not null
        then jsonb_build_object('count', p_count, 'per_us', p_per_us, 'burst', p_burst) end)
$$;
