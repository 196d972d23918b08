-- The tasks that a handler made, with the properties of each (`command_ids` to `timeouts`, `all_keys`, `notify`), and the first
-- one that this task can't make (`refused`). A task without a kind is a child that the handler awaits. Tasks that are made
-- together are mostly alike: then one look-up serves all. `p_largest`: how large the largest payload is in memory.
create or replace function kinfolk.resolve_made(p_given kinfolk.given_tasks, p_largest integer, p_maker kinfolk.maker)
returns kinfolk.made
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_made kinfolk.made := row((p_given).*, p_largest, null, null, null, null, null, null, null);
    v_many integer := cardinality(p_given.commands);
    -- An array that is empty says nothing of any of them.
    v_attempts boolean := cardinality(p_given.max_attempts) > 0;
    v_timeouts boolean := cardinality(p_given.timeouts_us) > 0;
    v_alike boolean := v_many > 0 and p_given.commands[1] = all (p_given.commands)
        and p_given.kinds[1] = all (p_given.kinds) and cardinality(p_given.kinds) in (0, v_many)
        and p_given.queues[1] = all (p_given.queues) and cardinality(p_given.queues) in (0, v_many)
        and (not v_attempts or kinfolk.is_full(p_given.max_attempts, v_many))
        and (not v_timeouts or kinfolk.is_full(p_given.timeouts_us, v_many))
        and cardinality(p_given.slot_keys) = 0
        and (cardinality(p_given.inherits) = 0 or p_maker.keys is null);
    v_one record;
begin
    if v_alike is not true then
        -- Said of each: an aggregate that sorts, such as the last one, may turn the order of what comes in for the others, too.
        select array_agg(i.command_id order by i.nth), array_agg(i.queue_id order by i.nth),
            array_agg(i.max_attempts order by i.nth), array_agg(i.timeout_us order by i.nth),
            min(i.nth) filter (where i.why is not null), array_agg(distinct i.queue_id),
            case when count(i.keys) > 0 then array_agg(i.keys order by i.nth) end
        into v_made.command_ids, v_made.queue_ids, v_made.attempts, v_made.timeouts, v_made.refused, v_made.notify, v_made.all_keys
        from (
            select g.nth::integer, s.command_id, s.queue_id, coalesce(g.max_attempts, s.max_attempts) as max_attempts,
                coalesce(g.timeout_us, s.timeout_us) as timeout_us, s.why,
                case
                    when g.inherits and p_maker.keys is not null
                    then kinfolk.inherited_keys(s.command_id, g.keys, p_maker.keys)
                    else nullif(g.keys, '{}')
                end as keys
            from unnest(p_given.commands, p_given.kinds, p_given.queues, p_given.max_attempts, p_given.timeouts_us, p_given.slot_keys,
                p_given.inherits)
                    with ordinality as g(command, kind, queue, max_attempts, timeout_us, keys, inherits, nth)
            cross join lateral kinfolk.resolve_one(p_maker, g.kind, g.command, g.queue, g.keys) s
        ) i;
        return v_made;
    end if;
    select s.*
    into v_one
    from kinfolk.resolve_one(p_maker, p_given.kinds[1], p_given.commands[1], p_given.queues[1], null) s;
    if v_one.why is not null then
        v_made.refused := 1;
    end if;
    v_made.command_ids := array_fill(v_one.command_id, array[v_many]);
    v_made.queue_ids := array_fill(v_one.queue_id, array[v_many]);
    v_made.attempts := case when v_attempts then p_given.max_attempts else array_fill(v_one.max_attempts, array[v_many]) end;
    v_made.timeouts := case when v_timeouts then p_given.timeouts_us else array_fill(v_one.timeout_us, array[v_many]) end;
    v_made.notify := array[v_one.queue_id];
    return v_made;
end
$$;
