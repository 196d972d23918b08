-- The part of `enqueue_rows` for tasks that differ from their commands' defaults, that were made before or that can't be made.
-- Answers as it does. Locks nothing that exists. Tasks without a unique key go in by one statement. `p_largest`: how large the
-- largest payload is in memory.

create or replace function kinfolk.enqueue_given(
    p_tasks kinfolk.given_tasks, p_largest integer, p_strict boolean, p_now timestamptz
) returns table (nth integer, outcome text, id bigint, name text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    -- Not by `perform`, which would show its own line to whoever reads the error.
    v_is_sound boolean := kinfolk.require_properties(p_tasks);
    v_unknown integer[] := '{}';
begin
    if cardinality(p_tasks.dues) > 0 then
        perform kinfolk.require_dues(p_tasks.dues);
    end if;
    if cardinality(p_tasks.slot_keys) > 0 then
        perform kinfolk.require_keys(p_tasks.slot_keys);
        v_unknown := kinfolk.unknown_groups(p_tasks.commands, p_tasks.slot_keys);
    end if;
    if kinfolk.insert_tasks(p_tasks, p_largest, v_unknown, p_now) < cardinality(p_tasks.ids) then
        return query select r.* from kinfolk.enqueue_rest(p_tasks, v_unknown, p_strict, p_now) r;
    end if;
end
$$;
