-- gate: another gate for a pending task that has not run since it was last enqueued or retried.
-- params: 1 id, 2 gate
-- index:  by number
update task
set gate   = ?2,
    bucket = case ?2
                when 'open' then iif(fair is not null, 'turn', iif(lane = 'top', null, lane))
                when 'time' then iif(runs > 0, 'backoff', null)
                else ?2
            end
where id = ?1
