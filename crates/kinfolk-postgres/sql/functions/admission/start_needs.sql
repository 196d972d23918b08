-- Takes the slots that these candidates of a page need, and one start of each of their keys where there is a rate. The caller has the
-- admission locks. Writes the pages of `slot_holder`, and `spent`. Runs under the settings of the claim.
create or replace function kinfolk.start_needs(
    p_needs kinfolk.claim_needs, p_starts boolean[], p_is_rated boolean, p_now timestamptz
) returns void
language plpgsql volatile
as $$
begin
    perform kinfolk.take_slots(array_agg(n.group_id), array_agg(n.key), array_agg(n.task_id))
    from unnest(p_needs.candidates, p_needs.groups, p_needs.keys, p_needs.tasks, p_needs.takes) as n(candidate, group_id, key, task_id, takes)
    where n.takes
        and p_starts[n.candidate];
    if p_is_rated then
        perform kinfolk.spend_starts(array_agg(n.group_id), array_agg(n.key), p_now)
        from unnest(p_needs.candidates, p_needs.groups, p_needs.keys) as n(candidate, group_id, key)
        where p_starts[n.candidate];
    end if;
end
$$;
