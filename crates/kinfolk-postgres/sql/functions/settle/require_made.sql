-- Refuses a whole settle if what it makes is given in a way that no store would keep. `p_each`: something that there is of each
-- task. Answers how large the largest payload is in memory.
create or replace function kinfolk.require_made(p_made kinfolk.given_tasks, p_order text, p_each text[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_order is null or p_order not in ('together', 'in_order', 'in_order_until_failure') then
        raise exception using errcode = 'KF001', message = format('unknown order %L', p_order),
            hint = 'there are: together, in_order, in_order_until_failure';
    end if;
    -- Most handlers make things of one kind.
    if (p_made.kinds[1] = all (p_made.kinds) and p_made.kinds[1] in ('sibling', 'child', 'follow_up', 'task')) is not true
        and exists (
            select
            from (
                select k.ordinal, lag(k.ordinal, 1, 1) over (order by k.nth) as before
                from (
                    select coalesce(array_position('{sibling,child,follow_up,task}'::text[], u.kind), 0) as ordinal, u.nth
                    from unnest(p_made.kinds) with ordinality as u(kind, nth)
                ) k
            ) o
            where o.ordinal < o.before)
    then
        raise exception using errcode = 'KF001', message = 'the kinds of what was made are unknown or not in order',
            hint = 'first each sibling, then each child, then each follow_up, then each task';
    end if;
    if cardinality(p_made.whens) > 0 and exists (select from unnest(p_made.whens) w where w not in ('settled', 'completed')) then
        raise exception using errcode = 'KF001', message = 'a follow-up waits for something unknown',
            hint = 'there are: settled, completed';
    end if;
    if coalesce(cardinality(p_made.ids) not in (0, cardinality(p_made.kinds)), true) or array_position(p_made.ids, null) is not null then
        raise exception using errcode = 'KF001', message = 'p_ids and p_kinds must be as many, and none of them null';
    end if;
    if cardinality(p_made.ids) > 0 and (
        exists (select from kinfolk.task t where t.id = any (p_made.ids))
        or exists (select from unnest(p_made.ids) i where i < 1 or i > (select s.last_value from kinfolk.task_id s)))
    then
        raise exception using errcode = 'KF001', message = 'p_ids has a number that is in use, or was never given out',
            hint = 'take numbers from kinfolk.take_ids, or leave them out';
    end if;
    if cardinality(p_made.dues) > 0 then
        perform kinfolk.require_dues(p_made.dues);
    end if;
    if cardinality(p_made.slot_keys) > 0 then
        perform kinfolk.require_keys(p_made.slot_keys);
    end if;
    return kinfolk.require_tasks(p_made, p_each, kinfolk.made_max());
end
$$;
