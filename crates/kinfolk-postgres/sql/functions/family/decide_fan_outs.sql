-- Stores new verdicts over awaited fan-outs, which the caller has locked and counted. Runs under the settings of `ended`.
create or replace function kinfolk.decide_fan_outs(p_fan_outs bigint[], p_verdicts text[], p_now timestamptz) returns void
language plpgsql volatile
as $$
begin
    update kinfolk.fan_out f
    set
        verdict = p_verdicts[array_position(p_fan_outs, f.id)],
        settled_at = p_now,
        decided_at = f.completed + f.failed + f.cancelled,
        decided_step = (select t.steps from kinfolk.task t where t.id = f.task_id)
    where f.id = any (p_fan_outs);
end
$$;
