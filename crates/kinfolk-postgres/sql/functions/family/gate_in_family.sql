-- The gate of a family member that nothing else holds back: `family` while its root waits for admission to its queue.
create or replace function kinfolk.gate_in_family(p_root bigint, p_due timestamptz, p_now timestamptz) returns kinfolk.gate
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select case
            when exists (
                select
                from kinfolk.task r
                join kinfolk.queue q on q.id = r.queue_id
                where r.id = p_root
                    and r.state < 'completed'
                    and r.lane = 'top'
                    and q.family_limit is not null)
            then 'family'
            when p_due > p_now then 'time'
            else 'open'
        end::kinfolk.gate);
end
$$;
