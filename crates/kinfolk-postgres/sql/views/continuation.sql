-- The door through which a handler in SQL fans out and names the functions that go on: an insert here, which a trigger carries out
-- (`carry_out_fan_out`). Nothing is kept in it.
--
-- It is a view for the reason that `registration` is one: the default of a column sees the caller, and no role has the right to
-- give `caller`.

create or replace view kinfolk.continuation as
select
    null::jsonb as subs,
    null::text as rule,
    null::text as and_then,
    null::text as otherwise,
    null::numeric as share,
    null::interval as timeout,
    null::boolean as cancel_on_failure,
    null::name as caller
where false;

alter view kinfolk.continuation alter column caller set default current_user;
