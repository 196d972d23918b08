-- Makes a task await these of its fan-outs again, each up to a number of ended children, and no other. The caller has locked
-- the family exclusively.
create or replace function kinfolk.await_again(p_task bigint, p_awaits bigint[], p_wakes integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    update kinfolk.fan_out f
    set wake_at = null
    where f.task_id = p_task
        and f.wake_at is not null
        and f.id <> all (p_awaits);
    update kinfolk.fan_out f
    set wake_at = g.wake_at
    from unnest(p_awaits, p_wakes) as g(id, wake_at)
    where f.id = g.id
        and f.wake_at is distinct from g.wake_at;
end
$$;
