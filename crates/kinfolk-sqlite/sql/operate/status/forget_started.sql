-- forget_started: what was started is told, or there is no status left to be told of it.
-- params: none
-- index:  none, all of them
delete from started
