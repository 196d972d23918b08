-- resume: a suspended task is in line again, at its old position; if it had a timer, it is due now.
-- params: 1 id, 2 now, 3 gate
-- index:  by number
update task
set state   = 'pending',
    gate    = ?3,
    due     = iif(gate is null, due, ?2),
    signals = null,
    bucket  = case
                  when ?3 <> 'open' then ?3
                  when fair is not null then 'turn'
                  when lane <> 'top' then lane
              end
where id = ?1
