-- As `enqueue_many`, for a caller that wants the answer `rejected` and `why` instead of an error for tasks that can't be made; the
-- others are made.

create or replace function kinfolk.try_enqueue_many(tasks jsonb) returns table (outcome text, id bigint, why text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    -- Here and not in the query below, which would show itself to whoever reads the error.
    v_is_sound boolean := kinfolk.require_items(tasks);
begin
    return query
    select e.outcome, e.id, case when e.why is not null then format('%s %s', replace(e.why, '_', ' '), e.name) end
    from kinfolk.enqueue_items(tasks) e;
end
$$;
