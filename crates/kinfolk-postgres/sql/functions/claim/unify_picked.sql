-- The fourth step of a claim, for two kinds of tasks. A root that ran before and brings its family to work on a queue with a family
-- limit: opens the tasks of that family that had to wait for it. A task that starts under a unique key: unifies it with others of its
-- key, or leaves it where another call has locked one of these, or the key. Locks the families of repaired roots, exclusively, if they
-- are free, and what `open_limited` and `unify_duplicates` lock, never waiting.

create or replace function kinfolk.unify_picked(
    p_picked kinfolk.claim_picked, p_scope kinfolk.claim_scope, p_made boolean
) returns kinfolk.claim_picked
language plpgsql volatile
as $$
declare
    v_ids bigint[] := p_picked.ids;
    v_busy bigint[];
begin
    if p_picked.again <> '{}' then
        -- A root that failed, and is repaired, begins again with what it had spawned. A call that works in its family reads the lane of
        -- the root, so the root waits until no call does.
        v_busy := array(
            select t.id
            from unnest(p_picked.again) as p(id)
            join kinfolk.task t on t.id = p.id
            where case when t.started_at is null then not kinfolk.try_lock_family(t.id) else false end);
        if v_busy <> '{}' then
            p_picked.ids := array(select i from unnest(p_picked.ids) i where i <> all (v_busy));
            p_picked.tops := array(select i from unnest(p_picked.tops) i where i <> all (v_busy));
            p_picked.left_out := true;
        end if;
        perform kinfolk.open_limited(array(select i from unnest(p_picked.again) i where i <> all (v_busy)), p_picked.at);
    end if;
    if p_picked.starts_unique then
        select f.ids, f.left_out or p_picked.left_out
        into p_picked.ids, p_picked.left_out
        from kinfolk.unify_duplicates(p_picked.ids, p_picked.at, p_made) f;
    end if;
    if (p_scope.groups is not null or p_scope.fair is not null) and cardinality(v_ids) > cardinality(p_picked.ids) then
        perform kinfolk.drop_slots(array(select unnest(v_ids) except select unnest(p_picked.ids)));
    end if;
    return p_picked;
end
$$;
