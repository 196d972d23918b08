-- Prepares tasks that a claim has locked and that start under a unique key. Lays their duplicates into them. Where
-- several roots were made under one key at the same moment, they become one: the others that are open are laid into the
-- lowest by each one's own rule and cancelled; or all are cancelled, where one has started and still holds the key.
-- A child is never folded away, nor is what waits behind a gate, such as a follow-up. Answers which of the tasks are to
-- be started, and whether some were left for later because another claim holds their sibling.
--
-- Locks pending siblings by `task_unique`, in the order of their numbers, never waiting.

create or replace function kinfolk.fold(p_ids bigint[], p_now timestamptz, out ids bigint[], out left_out boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_key record;
    v_siblings bigint[];
    v_locked bigint[];
    v_holder bigint;
    v_gone bigint[];
begin
    ids := p_ids;
    left_out := false;
    for v_key in
        select t.command_id, t.unique_key, array_agg(t.id) as picked
        from unnest(p_ids) as p(id)
        join kinfolk.task t on t.id = p.id
        where t.runs = 0
            and t.parent_id is null
            and kinfolk.holds(t, p_now)
            and exists (
                select
                from kinfolk.task s
                where s.unique_key = t.unique_key
                    and s.command_id = t.command_id
                    and s.parent_id is null
                    and s.unique_held
                    and s.id <> t.id)
        group by t.command_id, t.unique_key
    loop
        select coalesce(array_agg(s.id order by s.id) filter (where s.runs = 0
                and (s.gate = 'open' or (s.gate = 'limit' and s.parked_group is not null))), '{}'),
            min(s.id) filter (where s.state <> 'pending' or s.runs > 0)
        into v_siblings, v_holder
        from kinfolk.task s
        where s.unique_key = v_key.unique_key
            and s.command_id = v_key.command_id
            and s.parent_id is null
            and kinfolk.holds(s, p_now);
        with locked as materialized (
            select s.id
            from kinfolk.task s
            where s.id = any (v_siblings)
                and (s.gate = 'open' or (s.gate = 'limit' and s.parked_group is not null))
                and s.runs = 0
            order by s.id
            for update skip locked
        )
        select array_agg(l.id order by l.id) into v_locked from locked l;

        if cardinality(v_locked) < cardinality(v_siblings) then
            v_gone := v_key.picked;
            left_out := true;
        elsif v_holder is not null then
            v_gone := v_locked;
            perform kinfolk.fold_away(v_gone, v_holder, p_now);
        else
            v_holder := v_locked[1];
            v_gone := v_locked[2:];
            perform kinfolk.lay_in(v_holder);
            perform kinfolk.lay_sibling(v_holder, s.id) from unnest(v_gone) as s(id);
            perform kinfolk.fold_away(v_gone, v_holder, p_now);
        end if;
        ids := array(select i from unnest(ids) i where i <> all (v_gone));
    end loop;

    -- What hangs on a task that has run before is for the next one.
    perform kinfolk.lay_in(t.id)
    from unnest(ids) as p(id)
    join kinfolk.task t on t.id = p.id
    where t.runs = 0
        and exists (select from kinfolk.duplicate d where d.task_id = t.id);
    insert into kinfolk.late (queue_id, task_id)
    select t.queue_id, t.id
    from unnest(ids) as p(id)
    join kinfolk.task t on t.id = p.id
    where t.unique_held
        and t.runs = 0;
end
$$;
