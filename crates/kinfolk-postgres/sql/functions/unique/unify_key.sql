-- Makes one root of those that hold one unique key, in place of `p_picked`, which a claim is about to start. The other ones that are
-- open are applied to the lowest and cancelled; or all are cancelled, where one has started and still holds the key. Answers which
-- tasks are not to be started (`gone`), and the lowest, if it starts instead of them (`lowest`). `is_busy`: another claim holds one
-- of them, and nothing was done. A child is never cancelled for that, nor is what waits behind a gate, such as a follow-up.
--
-- Locks pending siblings by `task_unique`, in the order of their numbers, never waiting: those behind a gate, too.

create or replace function kinfolk.unify_key(
    p_command integer, p_key text, p_picked bigint[], p_now timestamptz, out gone bigint[], out lowest bigint, out is_busy boolean
)
language plpgsql volatile
as $$
declare
    v_siblings bigint[];
    v_holder bigint;
    v_locked bigint[];
begin
    select array_agg(s.id) filter (where s.state = 'pending' and s.runs = 0),
        min(s.id) filter (where s.state <> 'pending' or s.runs > 0)
    into v_siblings, v_holder
    from kinfolk.task s
    where s.unique_key = p_key
        and s.command_id = p_command
        and s.parent_id is null
        and kinfolk.holds(s, p_now);
    with locked as materialized (
        select s.id, s.gate in ('open', 'turn', 'limit') as is_open
        from kinfolk.task s
        where s.id = any (v_siblings)
            and s.state = 'pending'
            and s.runs = 0
        order by s.id
        for update skip locked
    )
    select coalesce(count(*) < cardinality(v_siblings), false), array_agg(l.id order by l.id) filter (where l.is_open)
    into is_busy, v_locked
    from locked l;

    if is_busy then
        gone := p_picked;
    elsif v_holder is not null then
        gone := v_locked;
        perform kinfolk.cancel_duplicates(gone, v_holder, p_now);
    else
        lowest := v_locked[1];
        gone := v_locked[2:];
        perform kinfolk.apply_duplicates(lowest);
        perform kinfolk.apply_sibling(lowest, s.id) from unnest(gone) as s(id);
        perform kinfolk.cancel_duplicates(gone, lowest, p_now);
    end if;
end
$$;
