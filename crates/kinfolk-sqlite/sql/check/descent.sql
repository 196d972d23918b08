-- descent: children that do not fit their parent: another root, a wrong depth, a wrong place among the children, or
-- none.
-- params: none
-- index:  the whole table; parents and fan-outs by number
select child.id,
       'is child ' || coalesce(child.nth, '?') || ' of ' || child.parent_id || ' in generation ' || child.depth
       || ' of root ' || coalesce(child.root_id, 'none')
from task as child
left join task as parent on parent.id = child.parent_id
left join fan_out on fan_out.id = child.fan_out_id
where child.parent_id is not null
  and (
      parent.id is null
      or child.depth <> parent.depth + 1
      or child.root_id is not coalesce(parent.root_id, parent.id)
      or fan_out.task_id is not child.parent_id
      or fan_out.root_id is not child.root_id
      or fan_out.depth is not parent.depth
      or child.nth is null
      or child.lane <> 'child'
  )
