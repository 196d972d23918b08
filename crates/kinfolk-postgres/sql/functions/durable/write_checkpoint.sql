-- `write_checkpoints` for a single checkpoint, as most calls have it.
create or replace function kinfolk.write_checkpoint(
    p_task bigint, p_branch text, p_name text, p_occurrence integer, p_kind text, p_digest text, p_value jsonb
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_steps integer;
begin
    with counted as (
        update kinfolk.task t
        set steps = t.steps + 1
        where t.id = p_task
            and not exists (
                select
                from kinfolk.checkpoint c
                where c.task_id = p_task
                    and c.branch = p_branch
                    and c.name = p_name
                    and c.occurrence = p_occurrence)
        returning t.steps
    )
    insert into kinfolk.checkpoint (task_id, seq, branch, name, occurrence, kind, digest, value, recorded_at)
    select p_task, c.steps - 1, p_branch, p_name, p_occurrence, p_kind, p_digest, p_value, kinfolk.clock()
    from counted c
    returning seq + 1 into v_steps;
    if not found and not exists (
        select
        from kinfolk.checkpoint c
        where c.task_id = p_task
            and c.branch = p_branch
            and c.name = p_name
            and c.occurrence = p_occurrence
            and (c.kind, c.digest, c.value) = (p_kind, p_digest, p_value))
    then
        perform kinfolk.refuse_checkpoint(p_task, p_branch, p_name, p_occurrence);
    end if;
    perform kinfolk.require_steps(v_steps);
end
$$;
