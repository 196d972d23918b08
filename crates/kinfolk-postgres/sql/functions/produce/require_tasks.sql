-- Refuses a whole call if any of the tasks it makes is one that no store would keep, or if there are more than `p_most`.
-- `p_each`: something that there is of each task, such as its number. Answers how large the largest payload is in memory.

create or replace function kinfolk.require_tasks(p_tasks kinfolk.given_tasks, p_each anyarray, p_most integer) returns integer
language plpgsql
as $$
declare
    -- Not by `perform`, which would show its own line to whoever reads the error.
    v_largest integer := kinfolk.require_payloads(p_each, p_tasks.commands, p_tasks.payloads, p_most);
    v_is_sound boolean;
begin
    -- What most tasks don't bring is looked at only where there is some.
    if (cardinality(p_tasks.priorities) + cardinality(p_tasks.delays_us) + cardinality(p_tasks.keys) + cardinality(p_tasks.scopes)
        + cardinality(p_tasks.windows_us) + cardinality(p_tasks.on_duplicates) + cardinality(p_tasks.max_attempts)
        + cardinality(p_tasks.timeouts_us) + cardinality(p_tasks.traces) = 0) is not true
    then
        v_is_sound := kinfolk.require_properties(p_tasks);
    end if;
    return v_largest;
end
$$;
