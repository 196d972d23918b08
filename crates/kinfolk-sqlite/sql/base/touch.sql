-- touch: the store's row as it is, so that nobody else writes from here on.
-- params: none
-- index:  by number
update store
set clock = clock
where id = 1
