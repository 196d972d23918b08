-- The kind of failure of a handler whose fan-out did not end as its rule demands: `children` where a sub-task failed, but not where
-- the fan-out took too long or the sub-tasks were only cancelled. `p_kinds`: the kinds of failure of the sub-tasks that did not
-- complete. Decides as `kinfolk_core::durable::Verdict::failure_kind` does.
create or replace function kinfolk.kind_of_fan_out(p_verdict text, p_kinds text[]) returns text
language sql immutable
as $$
    select case
        when p_verdict = 'failed' and exists (select from unnest(p_kinds) k where k not in ('cancelled', 'skipped')) then 'children'
        else 'error'
    end
$$;
