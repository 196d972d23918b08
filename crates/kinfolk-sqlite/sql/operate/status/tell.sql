-- tell: a task of this command was started, for the next look at the statuses that watch it.
-- params: 1 command_id, 2 its name
-- index:  by name, all of the few statuses
insert into started (command_id)
select ?1
where exists (
    select 1
    from status
    join json_each(status.commands) as watched on watched.value = ?2
)
on conflict (command_id) do nothing
