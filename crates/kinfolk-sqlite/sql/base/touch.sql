-- touch: write the store's row as it is, so that no other connection writes from here on.
-- params: none
-- index:  by number
update store
set clock = clock
where id = 1
