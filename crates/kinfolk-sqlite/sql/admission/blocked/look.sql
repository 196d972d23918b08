-- look: whether a queue has tasks behind keys that may have room, and when the next key of any queue is to be looked at on
-- account of time.
-- params: 1 queue_id
-- index:  ready_waiter, by queue; spent_wakes_idx, its first entry
select exists (
           select 1
           from ready_waiter
           where queue_id = ?1
       ),
       (
           select wakes_at
           from spent
           where wakes_at is not null
           order by wakes_at
           limit 1
       )
