-- A task's payload with its duplicates applied, in the order in which they came. A task that has started, or ended before
-- it could, shows its own payload: a later duplicate is for the next task.

create or replace function kinfolk.payload_with_duplicates(p_task bigint) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_newer record;
begin
    select array_agg(d.on_duplicate order by d.arrival) as rules, array_agg(d.payload order by d.arrival) as payloads
    into v_newer
    from kinfolk.duplicate d
    where d.task_id = p_task
        and exists (
            select
            from kinfolk.task t
            where t.id = p_task
                and t.state = 'pending'
                and t.runs = 0);
    return kinfolk.payload_with_newer(kinfolk.payload_of(p_task), v_newer.rules, v_newer.payloads);
end
$$;
