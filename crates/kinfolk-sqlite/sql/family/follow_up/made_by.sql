-- made_by: write down by which task and which family a follow-up was made.
-- params: 1 id, 2 made_by, 3 follows (a root)
-- index:  by number
update task
set made_by = ?2,
    follows = ?3
where id = ?1
