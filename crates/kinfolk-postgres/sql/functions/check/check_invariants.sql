-- Every invariant of the store as a query: what it answers is broken. A sound store answers nothing. One function a subject.

create or replace function kinfolk.check_invariants() returns table (invariant text, detail text, task bigint)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select c.invariant, c.detail, c.task from kinfolk.check_tasks() c
    union all
    select c.invariant, c.detail, c.task from kinfolk.check_unique() c
    union all
    select c.invariant, c.detail, c.task from kinfolk.check_records() c
    union all
    select c.invariant, c.detail, c.task from kinfolk.check_families() c
    union all
    select c.invariant, c.detail, c.task from kinfolk.check_limits() c
    union all
    select c.invariant, c.detail, c.task from kinfolk.check_follow_ups() c
    union all
    select c.invariant, c.detail, c.task from kinfolk.check_durable() c
    union all
    select c.invariant, c.detail, c.task from kinfolk.check_awaited() c
    union all
    select c.invariant, c.detail, c.task from kinfolk.check_slots() c
    union all
    select c.invariant, c.detail, c.task from kinfolk.check_groups() c
    order by 1, 3
$$;
