-- insert: one new task.
-- params: 1 id, 2 command_id, 3 queue_id, 4 gate, 5 priority, 6 due, 7 position, 8 max_attempts, 9 timeout, 10 created_at,
--         11 unique_key, 12 unique_scope, 13 key_until, 14 trace, 15 payload, 16 keys, 17 fair
insert into task (
    id, command_id, queue_id, state, gate, priority, due, position, max_attempts, timeout, created_at,
    unique_key, unique_scope, key_until, trace, payload, keys, fair, bucket
)
values (
    ?1, ?2, ?3, 'pending', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
    iif(?4 = 'open' and ?17 is not null, 'turn', null)
)
