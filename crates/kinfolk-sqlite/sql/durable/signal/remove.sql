-- remove: a signal was taken.
-- params: 1 arrival
-- index:  by number
delete from signal
where arrival = ?1
