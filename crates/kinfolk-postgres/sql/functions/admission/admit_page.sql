-- Decides over a page of candidates, which the caller has locked, in the order given. A candidate whose keys all have room takes one
-- slot of each, and one start where there is a rate. Any other candidate is blocked behind its first full key, by group number. This is
-- `kinfolk_core::admit::admit`. Where every key has room for all its candidates, one statement decides. Otherwise the rooms of the
-- contested keys are counted down, one candidate after another. `p_one_by_one`: rooms of lanes, or the rule for suspects, may keep a
-- candidate back.
--
-- The caller has the admission locks. Reads and writes the pages of `slot_holder`. Runs under the settings of the claim.
create or replace function kinfolk.admit_page(
    p_admission kinfolk.claim_admission, p_page kinfolk.claim_page, p_one_by_one boolean, p_now timestamptz
) returns kinfolk.claim_admission
language plpgsql volatile
as $$
declare
    v_many integer := cardinality(p_page.ids);
    v_needs kinfolk.claim_needs := kinfolk.find_needs(p_page);
    v_rooms kinfolk.claim_rooms;
    v_overfull bigint[];
begin
    -- Not before the candidates are locked: how they ran before is over, and so is noted by now.
    perform kinfolk.add_ready_keys(0, array(select distinct g from unnest(v_needs.groups) g), p_now);
    p_admission.starts_unique := p_admission.starts_unique or p_page.starts_unique;
    p_one_by_one := p_one_by_one or v_many > p_admission.most;
    if v_needs.all_plain and not p_one_by_one then
        v_overfull := kinfolk.overfull_keys(v_needs.groups, v_needs.keys, v_needs.tasks);
        if v_overfull = '{}' then
            perform kinfolk.take_slots(v_needs.groups, v_needs.keys, v_needs.tasks);
        end if;
    end if;
    if p_one_by_one or (v_needs.groups is not null and v_overfull is distinct from '{}') then
        v_rooms := kinfolk.contested_rooms(v_needs, v_overfull, p_one_by_one, p_page.edges is not null, p_now);
        if p_one_by_one or v_rooms.groups is not null then
            return kinfolk.admit_one_by_one(p_admission, p_page, v_needs, v_rooms, p_one_by_one, p_now);
        end if;
        perform kinfolk.start_needs(v_needs, array_fill(true, array[v_many]), v_rooms.is_rated, p_now);
    end if;
    p_admission.ids := p_admission.ids || p_page.ids;
    p_admission.most := p_admission.most - v_many;
    p_admission.last := p_page.ids[v_many];
    p_admission.is_whole := true;
    return p_admission;
end
$$;
