-- The children that this handler spawns run one after another, each after the whole family of the one before; with
-- `until_failure`, a failure cancels the rest.
create or replace function kinfolk.in_order(until_failure boolean default false) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    insert into kinfolk.intent (task_id, token, kind, child_order)
    select t.id, t.token, 'order', case when until_failure then 'in_order_until_failure' else 'in_order' end
    from kinfolk.handled() t
$$;
