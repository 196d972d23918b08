-- forget_started: statuses know of these starts now, or there is no status left.
-- params: none
-- index:  none, all of them
delete from started
