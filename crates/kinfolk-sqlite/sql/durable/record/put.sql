-- put: one checkpoint, unless there is one of its key.
-- params: 1 task_id, 2 seq, 3 branch, 4 name, 5 occurrence, 6 kind, 7 digest, 8 value, 9 now
-- index:  checkpoint_key_idx
insert into checkpoint (task_id, seq, branch, name, occurrence, kind, digest, value, recorded_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
on conflict do nothing
