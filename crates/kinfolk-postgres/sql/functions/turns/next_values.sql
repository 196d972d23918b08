-- The next values in the order of turns, as many as asked for: in each priority the values behind `p_turn`, then the others.
-- Leaves out values whose tasks were all skipped. Steps from one value to the next in `task_turn`: the next text behind a value, in
-- the order of bytes, is that value with the byte 1 behind it.
create or replace function kinfolk.next_values(
    p_queue integer, p_lines kinfolk.line[], p_many integer, p_passed bigint[], p_turn text
) returns table (priority integer, value text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with recursive turn as (
        (
            select l.priority, v.value, v.is_late
            from kinfolk.next_priority(p_queue, p_lines, p_passed, -2147483649) l
            cross join lateral kinfolk.next_value(p_queue, p_lines, p_passed, p_turn, l.priority, coalesce(p_turn || e'\x01', ''), false) v
        )
        union all
        select n.priority, n.value, n.is_late
        from turn t
        cross join lateral (
            (
                select t.priority, v.value, v.is_late
                from kinfolk.next_value(p_queue, p_lines, p_passed, p_turn, t.priority, t.value || e'\x01', t.is_late) v
            )
            union all
            (
                select l.priority, v.value, v.is_late
                from kinfolk.next_priority(p_queue, p_lines, p_passed, t.priority) l
                cross join lateral kinfolk.next_value(p_queue, p_lines, p_passed, p_turn, l.priority, coalesce(p_turn || e'\x01', ''), false) v
            )
            limit 1
        ) n
    )
    select t.priority, t.value
    from turn t
    limit p_many;
end
$$;
