-- Cancels the open children of those fan-outs of tasks, which have failed and whose families the caller has locked whole, that
-- are to go with them. Answers as `cancel_members` does; null where there are none.
create or replace function kinfolk.cancel_with(
    p_failed bigint[], p_now timestamptz, out fan_outs bigint[], out children integer[], out was_after boolean[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_cancelled bigint[];
begin
    if p_failed is null then
        return;
    end if;
    v_cancelled := array(
        select f.id
        from kinfolk.fan_out f
        where f.task_id = any (p_failed)
            and f.cancel_on_failure
            and f.completed + f.failed + f.cancelled < f.total);
    if cardinality(v_cancelled) > 0 then
        select c.fan_outs, c.children, c.was_after
        into fan_outs, children, was_after
        from kinfolk.cancel_members(kinfolk.members_below(v_cancelled), p_now) c;
    end if;
end
$$;
