-- What sort of failure it is of a handler that its fan-out did not end as the rule demands: it failed by its children where a sub-task
-- failed, not where it took too long, nor where someone cancelled a sub-task. `p_kinds`: how the sub-tasks failed that did not
-- complete. It is what `kinfolk_core::durable::Verdict::failure_kind` decides.
create or replace function kinfolk.kind_of_fan_out(p_verdict text, p_kinds text[]) returns text
language sql immutable
as $$
    select case
        when p_verdict = 'failed' and exists (select from unnest(p_kinds) k where k not in ('cancelled', 'skipped')) then 'children'
        else 'error'
    end
$$;
