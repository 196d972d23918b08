-- insert_child: one new task that has a parent.
-- params: 1 to 17 as for `insert`, 18 parent_id, 19 root_id, 20 depth, 21 fan_out_id, 22 nth
insert into task (
    id, command_id, queue_id, state, gate, priority, due, position, max_attempts, timeout, created_at,
    unique_key, unique_scope, key_until, trace, payload, keys, fair, parent_id, root_id, depth, fan_out_id, nth, lane, bucket
)
values (
    ?1, ?2, ?3, 'pending', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, 'child',
    case ?4 when 'open' then iif(?17 is null, 'child', 'turn') when 'time' then null else ?4 end
)
