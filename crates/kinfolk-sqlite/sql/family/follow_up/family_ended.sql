-- family_ended: a family has settled, for all that wait for it.
-- params: 1 root_id, 2 state
-- index:  follow_up_root_idx
update follow_up
set ended = ?2
where root_id = ?1
