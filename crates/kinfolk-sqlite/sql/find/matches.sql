-- matches: which of these tasks match a filter, in their order; a part that is null matches any task. Another statement looks at payloads.
-- params: 1 ids, a JSON array, 2 states, with commas between them, 3 queue_id, 4 command_id, 5 parent, 6 root, 7 has_children, 8 fan_out,
--         9 roots, 10 unique, 11 key (a JSON object), 12 created_after, 13 created_before, 14 finished_after,
--         15 finished_before, 16 failure_kind, 17 failure_text, 18 follows
-- index:  by number; fan_out_task_idx
select task.id
from json_each(?1) as asked
cross join task
    on task.id = asked.value
where (?2 is null or instr(?2, state) > 0)
  and (?3 is null or queue_id = ?3)
  and (?4 is null or command_id = ?4)
  and (?5 is null or parent_id = ?5)
  and (?6 is null or coalesce(root_id, task.id) = ?6)
  and (
      ?7 is null
      or ?7 = exists (
          select 1
          from fan_out
          where fan_out.task_id = task.id
      )
  )
  and (?8 is null or fan_out_id = ?8)
  and (?9 is null or parent_id is null)
  and (?10 is null or unique_key = ?10)
  and (
      ?11 is null
      or not exists (
          select 1
          from json_each(?11) as wanted
          where not exists (
              select 1
              from json_each(task.keys) as has
              where has.key = wanted.key
                and has.value = wanted.value
          )
      )
  )
  and (?12 is null or created_at >= ?12)
  and (?13 is null or created_at < ?13)
  and (?14 is null or finished_at >= ?14)
  and (?15 is null or finished_at < ?15)
  and (?16 is null or json_extract(failure, '$.kind') = ?16)
  and (?17 is null or instr(json_extract(failure, '$.message'), ?17) > 0)
  and (?18 is null or follows = ?18)
