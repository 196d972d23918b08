-- The slots that a key has now; null: as many as it likes.
create or replace function kinfolk.slots_of(p_group integer, p_key text) returns integer
language sql stable
as $$
    select coalesce((
            select s.slots
            from kinfolk.slot_setting s
            where s.group_id = p_group
                and s.key = p_key), g.set_slots, g.slots)
    from kinfolk.slot_group g
    where g.id = p_group
$$;
