-- turn: a status has turned, perhaps and back again.
-- params: 1 name, 2 active, 3 now
-- index:  by name
update status
set active     = ?2,
    changed_at = ?3
where name = ?1
