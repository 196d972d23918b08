-- A task's payload with its duplicates laid in, in the order in which they came. A task that has started, or ended before
-- it could, shows what it has: what came later is for the next one.

create or replace function kinfolk.folded(p_task bigint) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_payload jsonb := kinfolk.payload_of(p_task);
    v_newer record;
begin
    for v_newer in
        select d.payload, d.on_duplicate
        from kinfolk.duplicate d
        where d.task_id = p_task
            and exists (
                select
                from kinfolk.task t
                where t.id = p_task
                    and t.state = 'pending'
                    and t.runs = 0)
        order by d.arrival
    loop
        v_payload := case v_newer.on_duplicate
            when 'replace' then v_newer.payload
            else kinfolk.merged(v_payload, v_newer.payload)
        end;
    end loop;
    return v_payload;
end
$$;
