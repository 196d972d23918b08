-- write: the store's row, once per commit that changes anything.
-- params: 1 clock, 2 last_task, 3 added to catalogue, 4 added to cancels
-- index:  by number
update store
set clock     = max(clock, ?1),
    last_task = max(last_task, ?2),
    catalogue = catalogue + ?3,
    cancels   = cancels + ?4
where id = 1
