-- Enqueues many tasks at once, in order, all or nothing: an array of objects with the arguments of `enqueue` as keys (`command`
-- and `payload`, and what else is to differ from the command's defaults). One answer each. A command, a queue or a group that is
-- not there is an error (KF009): see `try_enqueue_many`.

create or replace function kinfolk.enqueue_many(tasks jsonb) returns table (outcome text, id bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    -- Here and not in the query below, which would show itself to whoever reads the error.
    v_is_sound boolean := kinfolk.require_items(tasks);
    v_none text;
    v_one record;
begin
    for v_one in select e.* from kinfolk.enqueue_items(tasks) e loop
        if v_one.why is not null then
            v_none := kinfolk.reject(v_one.why, v_one.name);
        end if;
        outcome := v_one.outcome;
        id := v_one.id;
        return next;
    end loop;
end
$$;
