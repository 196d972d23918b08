-- sort: from now on the tasks of a queue take turns by this key, or by none.
-- params: 1 queue_id, 2 path of the key in JSON, or null
-- index:  the whole table; an operator does this once
update task
set fair   = iif(?2 is null, null, coalesce(keys ->> ?2, '')),
    bucket = case
                when gate is not 'open' then bucket
                when ?2 is not null then 'turn'
                when suspect = 1 or lane = 'top' then null
                else lane
            end
where queue_id = ?1
  and finished_at is null
