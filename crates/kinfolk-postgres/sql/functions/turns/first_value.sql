-- The value with the first turn of a priority. `is_late`: no value behind `p_turn` has a task.
create or replace function kinfolk.first_value(
    p_queue integer, p_lines kinfolk.line[], p_passed bigint[], p_turn text, p_priority integer
) returns table (value text, is_late boolean)
language sql stable
as $$
    select v.value, v.is_late
    from (
        (
            select v.value, false as is_late
            from kinfolk.value_behind(p_queue, p_lines, p_passed, p_priority, p_turn) v
        )
        union all
        (
            select v.value, true
            from kinfolk.value_behind(p_queue, p_lines, p_passed, p_priority, null) v
        )
    ) v
    limit 1
$$;
