-- The page of `slot_holder` on which a task holds a slot of a key. The numbers from 0 below `spread`, in place of a task's
-- number, give all pages of the key.
--
-- A page says which tasks hold slots of which keys. Only a call with the group's admission lock reads pages to decide, and
-- writes them. Any other call that frees a slot appends a hint to `freed`, and the next call with the lock takes it. So the
-- holders of a key are the tasks on its pages that no hint names.
create or replace function kinfolk.slot_page(
    p_key text, p_task bigint, p_first integer, p_pages integer, p_spread integer
) returns integer
language sql immutable
as $$ select p_first + (((hashtext(p_key) & 1073741823) + (p_task & (p_spread - 1))::integer) & (p_pages - 1)) $$;
