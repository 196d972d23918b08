-- Finds what each of these tasks is (`command_ids` to `timeouts`), and the first of them that can't be made by a task with this parent, of this fan-out
-- and of this depth. What has no kind is a child that the handler awaits. `keys`: theirs in the groups of their commands, with
-- what they take of their maker's; null if none has any. Most tasks that are made together are alike: then one is looked up for
-- all.
create or replace function kinfolk.resolve_made(
    inout made kinfolk.made, p_parent bigint, p_fan_out bigint, p_depth integer, p_depth_limit integer, p_maker_keys jsonb,
    p_maker_attempts integer,
    out refused integer, out notify integer[], out keys jsonb[]
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_many integer := cardinality(made.commands);
    -- An array that is empty says nothing of any of them.
    v_attempts boolean := cardinality(made.max_attempts) > 0;
    v_timeouts boolean := cardinality(made.timeouts_us) > 0;
    v_alike boolean := v_many > 0 and made.commands[1] = all (made.commands)
        and made.kinds[1] = all (made.kinds) and cardinality(made.kinds) in (0, v_many)
        and made.queues[1] = all (made.queues) and cardinality(made.queues) in (0, v_many)
        and (not v_attempts or kinfolk.is_full(made.max_attempts, v_many))
        and (not v_timeouts or kinfolk.is_full(made.timeouts_us, v_many))
        and cardinality(made.slot_keys) = 0
        and (cardinality(made.inherits) = 0 or p_maker_keys is null);
    v_sort record;
begin
    if v_alike is not true then
        -- Said of each: an aggregate that sorts, such as the last one, may turn the order of what comes in for the others, too.
        select array_agg(i.command_id order by i.nth), array_agg(i.queue_id order by i.nth),
            array_agg(i.max_attempts order by i.nth), array_agg(i.timeout_us order by i.nth),
            min(i.nth) filter (where i.why is not null), array_agg(distinct i.queue_id),
            case when count(i.keys) > 0 then array_agg(i.keys order by i.nth) end
        into made.command_ids, made.queue_ids, made.attempts, made.timeouts, refused, notify, keys
        from (
            select g.nth::integer, s.command_id, s.queue_id, coalesce(g.max_attempts, s.max_attempts) as max_attempts,
                coalesce(g.timeout_us, s.timeout_us) as timeout_us, s.why,
                case
                    when g.inherits and p_maker_keys is not null
                    then kinfolk.inherited_keys(s.command_id, g.keys, p_maker_keys)
                    else nullif(g.keys, '{}')
                end as keys
            from unnest(made.commands, made.kinds, made.queues, made.max_attempts, made.timeouts_us, made.slot_keys,
                made.inherits)
                    with ordinality as g(command, kind, queue, max_attempts, timeout_us, keys, inherits, nth)
            cross join lateral kinfolk.sort_made(p_parent, p_fan_out, p_depth, p_depth_limit, g.kind, g.command, g.queue,
                g.keys, p_maker_attempts) s
        ) i;
        return;
    end if;
    select s.*
    into v_sort
    from kinfolk.sort_made(p_parent, p_fan_out, p_depth, p_depth_limit, made.kinds[1], made.commands[1], made.queues[1],
        null, p_maker_attempts) s;
    if v_sort.why is not null then
        refused := 1;
    end if;
    made.command_ids := array_fill(v_sort.command_id, array[v_many]);
    made.queue_ids := array_fill(v_sort.queue_id, array[v_many]);
    made.attempts := case when v_attempts then made.max_attempts else array_fill(v_sort.max_attempts, array[v_many]) end;
    made.timeouts := case when v_timeouts then made.timeouts_us else array_fill(v_sort.timeout_us, array[v_many]) end;
    notify := array[v_sort.queue_id];
end
$$;
