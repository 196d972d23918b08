-- outlived: open children of tasks that have ended or are gone.
-- params: none
-- index:  the whole table; parents by number
select child.id,
       'is ' || child.state || ', its parent ' || child.parent_id || ' is ' || coalesce(parent.state, 'gone')
from task as child
left join task as parent on parent.id = child.parent_id
where child.parent_id is not null
  and child.finished_at is null
  and (parent.id is null or parent.finished_at is not null)
