-- wake: the time of a suspended task has come: it is in line again, at its old position.
-- params: 1 id, 2 gate
-- index:  by number
update task
set state   = 'pending',
    gate    = ?2,
    signals = null,
    bucket  = case
                  when ?2 <> 'open' then ?2
                  when fair is not null then 'turn'
                  when lane <> 'top' then lane
              end
where id = ?1
