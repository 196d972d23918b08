-- declare: a command declares a group.
-- params: 1 command_id, 2 name, 3 group_id
insert into command_group (command_id, name, group_id)
values (?1, ?2, ?3)
on conflict (command_id, name) do update
set group_id = excluded.group_id
