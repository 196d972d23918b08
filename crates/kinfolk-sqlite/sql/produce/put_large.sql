-- put_large: keep a large payload beside its task.
-- params: 1 task_id, 2 payload
-- index:  by number
insert into large_payload (task_id, payload)
values (?1, ?2)
on conflict (task_id) do update
set payload = excluded.payload
