-- The tasks, among these, that wait, each looked up by its number. Has no settings of its own, so that the planner
-- inlines it.
create or replace function kinfolk.waiting_owners(p_owners bigint[])
returns table (
    id bigint, queue_id integer, fan_out_id bigint, nth integer, depth smallint, outcome kinfolk.state, holds_slots boolean
)
language sql stable
as $$
    select t.*
    from (select distinct o.id from unnest(p_owners) as o(id)) o
    cross join lateral (
        select t.id, t.queue_id, t.fan_out_id, t.nth, t.depth, t.outcome, t.holds_slots
        from kinfolk.task t
        where t.id = o.id
            and t.state::text = 'waiting'
        offset 0
    ) t
$$;
