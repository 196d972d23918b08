-- Writes the limits that an operator sets for a group, or for one key of it; null for all of them takes them back. The caller has
-- the group's admission lock.
create or replace function kinfolk.keep_setting(
    p_group integer, p_key text, p_slots integer, p_rate_count integer, p_rate_per_us bigint, p_rate_burst integer
) returns void
language plpgsql volatile
as $$
begin
    if p_key is null then
        update kinfolk.slot_group g
        set
            set_slots = p_slots,
            set_rate_count = p_rate_count,
            set_rate_per_us = p_rate_per_us,
            set_rate_burst = p_rate_burst
        where g.id = p_group;
    elsif num_nonnulls(p_slots, p_rate_count) = 0 then
        delete from kinfolk.slot_setting s
        where s.group_id = p_group
            and s.key = p_key;
    else
        insert into kinfolk.slot_setting (group_id, key, slots, rate_count, rate_per_us, rate_burst)
        values (p_group, p_key, p_slots, p_rate_count, p_rate_per_us, p_rate_burst)
        on conflict (group_id, key) do update set
            slots = excluded.slots,
            rate_count = excluded.rate_count,
            rate_per_us = excluded.rate_per_us,
            rate_burst = excluded.rate_burst;
    end if;
end
$$;
