-- Finds the properties of each made task (`command_ids` to `timeouts`, `all_keys`, `notify`), and the first one that this
-- task can't make (`refused`). A task without a kind is a child that the handler awaits. Tasks that are made together are
-- mostly alike: then one look-up serves all. Leaves `ids` as they are.
create or replace function kinfolk.resolve_made(p_made kinfolk.made, p_maker kinfolk.maker) returns kinfolk.made
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_many integer := cardinality(p_made.commands);
    -- An array that is empty says nothing of any of them.
    v_attempts boolean := cardinality(p_made.max_attempts) > 0;
    v_timeouts boolean := cardinality(p_made.timeouts_us) > 0;
    v_alike boolean := v_many > 0 and p_made.commands[1] = all (p_made.commands)
        and p_made.kinds[1] = all (p_made.kinds) and cardinality(p_made.kinds) in (0, v_many)
        and p_made.queues[1] = all (p_made.queues) and cardinality(p_made.queues) in (0, v_many)
        and (not v_attempts or kinfolk.is_full(p_made.max_attempts, v_many))
        and (not v_timeouts or kinfolk.is_full(p_made.timeouts_us, v_many))
        and cardinality(p_made.slot_keys) = 0
        and (cardinality(p_made.inherits) = 0 or p_maker.keys is null);
    v_sort record;
begin
    if v_alike is not true then
        -- Said of each: an aggregate that sorts, such as the last one, may turn the order of what comes in for the others, too.
        select array_agg(i.command_id order by i.nth), array_agg(i.queue_id order by i.nth),
            array_agg(i.max_attempts order by i.nth), array_agg(i.timeout_us order by i.nth),
            min(i.nth) filter (where i.why is not null), array_agg(distinct i.queue_id),
            case when count(i.keys) > 0 then array_agg(i.keys order by i.nth) end
        into p_made.command_ids, p_made.queue_ids, p_made.attempts, p_made.timeouts, p_made.refused, p_made.notify, p_made.all_keys
        from (
            select g.nth::integer, s.command_id, s.queue_id, coalesce(g.max_attempts, s.max_attempts) as max_attempts,
                coalesce(g.timeout_us, s.timeout_us) as timeout_us, s.why,
                case
                    when g.inherits and p_maker.keys is not null
                    then kinfolk.inherited_keys(s.command_id, g.keys, p_maker.keys)
                    else nullif(g.keys, '{}')
                end as keys
            from unnest(p_made.commands, p_made.kinds, p_made.queues, p_made.max_attempts, p_made.timeouts_us, p_made.slot_keys,
                p_made.inherits)
                    with ordinality as g(command, kind, queue, max_attempts, timeout_us, keys, inherits, nth)
            cross join lateral kinfolk.sort_made(p_maker, g.kind, g.command, g.queue, g.keys) s
        ) i;
        return p_made;
    end if;
    select s.*
    into v_sort
    from kinfolk.sort_made(p_maker, p_made.kinds[1], p_made.commands[1], p_made.queues[1], null) s;
    if v_sort.why is not null then
        p_made.refused := 1;
    end if;
    p_made.command_ids := array_fill(v_sort.command_id, array[v_many]);
    p_made.queue_ids := array_fill(v_sort.queue_id, array[v_many]);
    p_made.attempts := case when v_attempts then p_made.max_attempts else array_fill(v_sort.max_attempts, array[v_many]) end;
    p_made.timeouts := case when v_timeouts then p_made.timeouts_us else array_fill(v_sort.timeout_us, array[v_many]) end;
    p_made.notify := array[v_sort.queue_id];
    return p_made;
end
$$;
