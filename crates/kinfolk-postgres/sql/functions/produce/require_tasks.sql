-- Refuses a whole call if any of the tasks it makes is one that no store would keep, or if there are more than `p_most`.
-- `p_each`: something that there is of each task, such as its number. Answers how large the largest payload is in memory.

create or replace function kinfolk.require_tasks(p_tasks kinfolk.made, p_each anyarray, p_most integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Not by `perform`, which would show its own line to whoever reads the error.
    v_largest integer := kinfolk.require_payloads(p_each, p_tasks.commands, p_tasks.payloads, p_most);
    v_is_sound boolean := kinfolk.require_properties(p_tasks);
begin
    return v_largest;
end
$$;
