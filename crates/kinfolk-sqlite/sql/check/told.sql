-- told: follow-ups that were not told how a family ended, or believe that one has ended which had to complete and goes on.
-- params: none
-- index:  the whole table of entries; roots by number
select follow_up.task_id,
       'takes the family of ' || root.id || ', which is ' || root.state || ', for ' || coalesce(follow_up.ended, 'open')
from follow_up
join task as root on root.id = follow_up.root_id
where (follow_up.ended is null) <> (root.finished_at is null)
  and (follow_up.ended is null or follow_up.needs_completed = 1)
