-- task: a suspect is cleared: it has no strikes, and if it waited on account of them it is open now.
-- params: 1 id, 2 now
-- index:  by number
update task
set suspect    = 0,
    strikes    = 0,
    gate       = iif(gate = 'time', 'open', gate),
    due        = iif(gate = 'time', ?2, due),
    blocked_as = blocked_as & 2,
    bucket     = case
                    when gate <> 'time' and gate <> 'open' then bucket
                    when gate is null then bucket
                    when fair is not null then 'turn'
                    when lane <> 'top' then lane
                end
where id = ?1
  and suspect = 1
